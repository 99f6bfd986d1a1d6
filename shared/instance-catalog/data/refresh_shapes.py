#!/usr/bin/env python3
"""Writes instance-shapes.tsv.gz from EC2's answers. See README.md.

    python3 refresh_shapes.py FOLDER

FOLDER is what `journeyman catalog --from` takes.
"""

import glob
import gzip
import json
import pathlib
import sys

COLUMNS = 25


def load(folder, name):
    found = [p for p in glob.glob(f"{folder}/{name}*.json*") if pathlib.Path(p).name[len(name)] == "."]
    if len(found) != 1:
        raise SystemExit(f"{folder}: wanted one file {name}*.json, found {found}")
    data = pathlib.Path(found[0]).read_bytes()
    return json.loads(gzip.decompress(data) if found[0].endswith(".gz") else data)


def cell(value):
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "1" if value else "0"
    return str(value)


def devices(items):
    parts = []
    for d in items or []:
        memory = (d.get("MemoryInfo") or {}).get("SizeInMiB", 0)
        cores = (d.get("CoreInfo") or {}).get("Count", 0)
        parts.append("|".join(str(x) for x in (d.get("Name", ""), d.get("Manufacturer", ""), d["Count"], memory, cores)))
    return ";".join(parts)


def row(t, limit):
    p, n = t.get("ProcessorInfo", {}), t["NetworkInfo"]
    ghz = p.get("SustainedClockSpeedInGhz")
    ebs = t.get("EbsInfo", {})
    bandwidth = (ebs.get("EbsOptimizedInfo") or {}).get("MaximumBandwidthInMbps")
    disks = t.get("InstanceStorageInfo")
    total = (disks or {}).get("TotalSizeInGB")
    is_nvme = (disks or {}).get("NvmeSupport", "unsupported") != "unsupported"
    cards = [f"{c['NetworkCardIndex']}:{c['MaximumNetworkInterfaces']}" for c in n.get("NetworkCards", [])]
    return [
        t["InstanceType"],
        ",".join(p.get("SupportedArchitectures", [])),
        p.get("Manufacturer"),
        None if ghz is None else round(ghz * 1000),
        "nested-virtualization" in p.get("SupportedFeatures", []),
        t.get("NitroEnclavesSupport") == "supported",
        t["VCpuInfo"]["DefaultVCpus"],
        t["MemoryInfo"]["SizeInMiB"],
        bandwidth if ebs.get("EbsOptimizedSupport") == "default" else None,
        t.get("Hypervisor", ""),
        ",".join(c for c in t.get("SupportedUsageClasses", []) if c in ("on-demand", "spot")),
        devices((t.get("GpuInfo") or {}).get("Gpus")),
        devices((t.get("InferenceAcceleratorInfo") or {}).get("Accelerators")),
        devices((t.get("NeuronInfo") or {}).get("NeuronDevices")),
        None if total is None else f"{total}:{cell(is_nvme)}",
        ",".join(cards),
        n.get("DefaultNetworkCardIndex", 0),
        n.get("Ipv4AddressesPerInterface", 0),
        n.get("EnaSupport", "unsupported") != "unsupported",
        (n.get("EfaInfo") or {}).get("MaximumEfaInterfaces", 0),
        n.get("EncryptionInTransitSupported", False),
        ",".join((t.get("PlacementGroupInfo") or {}).get("SupportedStrategies", [])),
        limit.get("networkBandwidthMbps"),
        limit.get("branchInterfaces") if limit.get("trunking") else None,
        limit.get("ipv4PerInterface"),
    ]


def main():
    folder = sys.argv[1]
    types = load(folder, "describe-instance-types")["InstanceTypes"]
    limits = load(folder, "limits")["limits"]
    lines = ["journeyman-instance-shapes\t2"]
    for t in sorted(types, key=lambda t: t["InstanceType"]):
        cells = row(t, limits.get(t["InstanceType"], {}))
        assert len(cells) == COLUMNS
        text = "\t".join(cell(c) for c in cells)
        assert text.count("\t") == COLUMNS - 1, text
        lines.append(text)
    out = pathlib.Path(__file__).with_name("instance-shapes.tsv.gz")
    out.write_bytes(gzip.compress(("\n".join(lines) + "\n").encode(), 9, mtime=0))
    print(f"{out.name}: {len(lines) - 1} types, {out.stat().st_size} bytes")


main()
