#!/usr/bin/env python3
"""Makes `instance-types.tsv.gz` from what `journeyman catalog -o json` prints.

    python3 shared/instance-catalog/data/refresh.py CATALOG.json

The table has one line for each instance type; see README.md for its columns. Everything that is the
same in every line of the input, or follows from other columns, is written once in the header or by
the reader, so that what is compared in review stays small. Python's standard library only. The same
input always gives the same bytes.
"""

import gzip
import json
import pathlib
import sys

# Labels that the reader derives from the offerings.
FROM_OFFERINGS = {
    "karpenter.sh/capacity-type",
    "node.kubernetes.io/instance-type",
    "topology.k8s.aws/zone-id",
    "topology.kubernetes.io/region",
    "topology.kubernetes.io/zone",
}
CAPACITY_TYPES = ["on-demand", "spot"]


def units(name, text):
    """A quantity in millicores for cpu, else in whole units."""
    factors = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40, "": 1}
    if name == "cpu":
        return int(text[:-1]) if text.endswith("m") else int(text) * 1000
    suffix = text.lstrip("0123456789")
    return int(text[: len(text) - len(suffix)]) * factors[suffix]


def amounts(resources):
    """`name=units` joined by spaces, sorted, without zeros."""
    shown = {name: units(name, text) for name, text in resources.items()}
    return " ".join(f"{name}={amount}" for name, amount in sorted(shown.items()) if amount)


def overhead(parts):
    total = {}
    for part in parts.values():
        for name, text in part.items():
            total[name] = total.get(name, 0) + units(name, text)
    return " ".join(f"{name}={amount}" for name, amount in sorted(total.items()) if amount)


def nanos(price):
    """Dollars as nano-dollars, exactly."""
    whole, _, fraction = price.partition(".")
    if len(fraction) > 9:
        sys.exit(f"{price} is finer than a nano-dollar")
    return int(whole) * 10**9 + int(fraction.ljust(9, "0"))


def prices(offerings, zones, own_zones):
    """For each capacity type, a price for each zone: `=` is the one before, `-` is not offered, and
    `!` before a price is offered but of no use (no image starts on the type)."""
    by_key = {(o["capacityType"], o["zone"]): o for o in offerings}
    if {c for c, _ in by_key} - set(CAPACITY_TYPES):
        sys.exit("reservations belong to an account, not to a catalog that is shipped")
    cells = []
    for capacity_type in CAPACITY_TYPES:
        before = None
        for zone in zones:
            offering = by_key.get((capacity_type, zone))
            if offering is None or not (offering["available"] or zone in own_zones):
                cells.append("-")
                continue
            price = nanos(offering["pricePerHour"])
            mark = "" if offering["available"] else "!"
            cells.append(mark + ("=" if price == before else str(price)))
            before = price
    return cells


def main():
    catalog = json.loads(pathlib.Path(sys.argv[1]).read_text())
    zones = sorted(catalog["zones"])
    types = sorted(catalog["instanceTypes"], key=lambda t: t["name"])
    keys = sorted({r["key"] for t in types for r in t["requirements"]} - FROM_OFFERINGS)
    lines = [
        "\t".join(["journeyman-instance-types", "1", catalog["region"]]),
        "\t".join(f"{zone}={catalog['zones'][zone]}" for zone in zones),
        "\t".join(keys),
    ]
    for one in types:
        labels = {}
        for requirement in one["requirements"]:
            if requirement["operator"] not in ("In", "DoesNotExist"):
                sys.exit(f"{one['name']}: {requirement}")
            values = requirement.get("values", [])
            labels[requirement["key"]] = ",".join(values) if values else "-"
        own_zones = labels["topology.kubernetes.io/zone"].split(",")
        row = [one["name"], amounts(one["capacity"]), overhead(one["overhead"])]
        row += prices(one["offerings"], zones, own_zones)
        row += [labels.get(key, "-") for key in keys]
        lines.append("\t".join(row))
    text = "\n".join(lines) + "\n"
    target = pathlib.Path(__file__).with_name("instance-types.tsv.gz")
    target.write_bytes(gzip.compress(text.encode(), 9, mtime=0))
    print(f"{len(types)} instance types, {len(text)} bytes, {target.stat().st_size} compressed")


if __name__ == "__main__":
    main()
