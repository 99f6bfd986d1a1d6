//! The compressed table of shapes of `data/README.md`.

use std::io::Read as _;

use flate2::read::GzDecoder;
use model::{
    CapacityType, InstanceTypeInfo, InstanceTypeName,
    instance_type_info::{Device, LocalDisks, Network, Processor, TableFacts},
};

use super::Error;

/// The most that a table may unpack to.
const BYTES_MAX: u64 = 16 << 20;
const FIRST_LINE: &str = "journeyman-instance-shapes\t2";

pub(super) fn decode(compressed: &[u8]) -> Result<Vec<InstanceTypeInfo>, Error> {
    let mut text = String::new();
    GzDecoder::new(compressed)
        .take(BYTES_MAX)
        .read_to_string(&mut text)
        .map_err(|error| Error(format!("the table of shapes does not unpack: {error}")))?;
    let mut lines = text.lines();
    if lines.next() != Some(FIRST_LINE) {
        return Err(Error("not a table of instance shapes of version 2".to_owned()));
    }
    lines.enumerate().map(|(index, line)| read(index + 2, line)).collect()
}

fn read(number: usize, line: &str) -> Result<InstanceTypeInfo, Error> {
    let mut cells = Cells(line.split('\t'));
    instance_type_info(&mut cells).map_err(|error| Error(format!("shapes, line {number}: {error}")))
}

/// The cells of a line, from left to right.
struct Cells<'a>(std::str::Split<'a, char>);

impl<'a> Cells<'a> {
    fn text(&mut self) -> Result<&'a str, String> {
        self.0.next().ok_or_else(|| "a column is missing".to_owned())
    }

    fn optional<T: std::str::FromStr>(&mut self) -> Result<Option<T>, String> {
        match self.text()? {
            "-" => Ok(None),
            text => parsed(text).map(Some),
        }
    }

    fn number<T: std::str::FromStr>(&mut self) -> Result<T, String> {
        parsed(self.text()?)
    }

    fn truth(&mut self) -> Result<bool, String> {
        Ok(self.text()? == "1")
    }

    fn texts(&mut self) -> Result<Vec<String>, String> {
        let parts = self.text()?.split(',').filter(|part| !part.is_empty());
        Ok(parts.map(ToOwned::to_owned).collect())
    }

    /// `name|manufacturer|count|memory|cores`, joined by `;`
    fn devices(&mut self) -> Result<Vec<Device>, String> {
        let parts = self.text()?.split(';').filter(|part| !part.is_empty());
        parts.map(device).collect()
    }
}

fn parsed<T: std::str::FromStr>(text: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("`{text}` does not belong there"))
}

fn device(text: &str) -> Result<Device, String> {
    let fields: Vec<&str> = text.split('|').collect();
    let [name, manufacturer, count, memory, cores] = fields.as_slice() else {
        return Err(format!("`{text}` is no device"));
    };
    Ok(Device {
        name: (*name).to_owned(),
        manufacturer: (*manufacturer).to_owned(),
        count: parsed(count)?,
        memory_mib: parsed(memory)?,
        cores: parsed(cores)?,
    })
}

fn instance_type_info(cells: &mut Cells<'_>) -> Result<InstanceTypeInfo, String> {
    let name = InstanceTypeName::new(cells.text()?).map_err(|error| error.to_string())?;
    // Fields are read in the order of the columns, which is that of the struct.
    Ok(InstanceTypeInfo {
        name,
        processor: Processor {
            architectures: cells.texts()?,
            manufacturer: cells.optional()?,
            clock_mhz: cells.optional()?,
            has_nested_virtualization: cells.truth()?,
            has_enclaves: cells.truth()?,
        },
        vcpus: cells.number()?,
        memory_mib: cells.number()?,
        ebs_mbps: cells.optional()?,
        hypervisor: cells.text()?.to_owned(),
        capacity_types: cells.texts()?.iter().filter_map(|t| CapacityType::parse(t)).collect(),
        gpus: cells.devices()?,
        accelerators: cells.devices()?,
        neuron_devices: cells.devices()?,
        local_disks: disks(cells.text()?)?,
        network: Network {
            cards: cells.texts()?.iter().map(|card| pair(card)).collect::<Result<_, _>>()?,
            default_card: cells.number()?,
            ipv4_per_interface: cells.number()?,
            has_ena: cells.truth()?,
            efa_interfaces: cells.number()?,
            encrypts_in_transit: cells.truth()?,
        },
        placement_strategies: cells.texts()?,
        table: TableFacts {
            network_mbps: cells.optional()?,
            branch_interfaces: cells.optional()?,
            ipv4_per_interface: cells.optional()?,
        },
    })
}

fn disks(text: &str) -> Result<Option<LocalDisks>, String> {
    if text == "-" {
        return Ok(None);
    }
    let (gigabytes, is_nvme): (u64, u32) = pair(text)?;
    Ok(Some(LocalDisks { gigabytes, is_nvme: is_nvme == 1 }))
}

/// `1:2`
fn pair<A: std::str::FromStr, B: std::str::FromStr>(text: &str) -> Result<(A, B), String> {
    let (a, b) = text.split_once(':').ok_or_else(|| format!("`{text}` is no pair"))?;
    Ok((parsed(a)?, parsed(b)?))
}
