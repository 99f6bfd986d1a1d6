//! The lists of members become code.

/// Structures by their members and the number of each, in ascending order. A member that is missing or too many
/// does not compile, nor does a number that is used twice.
macro_rules! structures {
    ($($name:ident$(<$parameter:ident>)? { $($number:literal $member:ident),* $(,)? })*) => { $(
        impl$(<$parameter: Stored>)? Stored for $name$(<$parameter>)? {
            fn put(&self, to: &mut Writer) {
                const { assert!($crate::recorded::codec::is_ascending(&[0, $($number),*])) };
                let Self { $($member),* } = self;
                to.structure(&[$(($number, $member)),*]);
            }

            fn take(from: &mut dyn Source) -> Result<Self, Damaged> {
                let mut frame = from.open();
                $(let $member = $crate::recorded::codec::member(
                    from,
                    &mut frame,
                    ($number, concat!(stringify!($name), ".", stringify!($member))),
                )?;)*
                from.close(frame)?;
                Ok(Self { $($member),* })
            }
        }
    )* };
}

/// Enumerations by the number of each variant, and by those of its parts. One that is missing does not compile,
/// nor does a number that is used twice.
macro_rules! enumerations {
    ($($name:ident {
        $($variant_number:literal $variant:ident
            $(($($part_number:literal $part:ident),*))?
            $({ $($number:literal $member:ident),* })?),* $(,)?
    })*) => { $(
        impl Stored for $name {
            fn put(&self, to: &mut Writer) {
                match self {
                    $(Self::$variant$(($($part),*))?$({ $($member),* })? => {
                        to.number($variant_number);
                        $(
                            const { assert!($crate::recorded::codec::is_ascending(&[0, $($part_number),*])) };
                            to.structure(&[$(($part_number, $part)),*]);
                        )?
                        $(
                            const { assert!($crate::recorded::codec::is_ascending(&[0, $($number),*])) };
                            to.structure(&[$(($number, $member)),*]);
                        )?
                    })*
                }
            }

            fn take(from: &mut dyn Source) -> Result<Self, Damaged> {
                const { assert!($crate::recorded::codec::is_ascending(&[$($variant_number),*])) };
                Ok(match from.variant([$($variant_number),*].len())? {
                    $($variant_number => {
                        $(
                            let mut frame = from.open();
                            $(let $part = $crate::recorded::codec::member(
                                from,
                                &mut frame,
                                ($part_number, concat!(stringify!($name), "::", stringify!($variant))),
                            )?;)*
                            from.close(frame)?;
                        )?
                        $(
                            let mut frame = from.open();
                            $(let $member = $crate::recorded::codec::member(
                                from,
                                &mut frame,
                                ($number, concat!(stringify!($variant), ".", stringify!($member))),
                            )?;)*
                            from.close(frame)?;
                        )?
                        Self::$variant$(($($part),*))?$({ $($member),* })?
                    })*
                    other => return Err(format!("no {} has the number {other}", stringify!($name))),
                })
            }
        }
    )* };
}

/// Names, which are checked when they are read.
macro_rules! names {
    ($($name:ident)*) => { $(
        impl Stored for $name {
            fn put(&self, to: &mut Writer) {
                to.text(self.as_str());
            }

            fn take(from: &mut dyn Source) -> Result<Self, Damaged> {
                $crate::recorded::codec::text(from, |text| Self::new(text).map_err(|error| error.to_string()))
            }
        }
    )* };
}

/// Enumerations without parts by their words.
macro_rules! words {
    ($($name:ident)*) => { $(
        impl Stored for $name {
            fn put(&self, to: &mut Writer) {
                to.text(self.as_str());
            }

            fn take(from: &mut dyn Source) -> Result<Self, Damaged> {
                let unknown = |word: &str| format!("`{word}` is no {}", stringify!($name));
                $crate::recorded::codec::text(from, |word| Self::parse(word).ok_or_else(|| unknown(word)))
            }
        }
    )* };
}

pub(super) use {enumerations, names, structures, words};
