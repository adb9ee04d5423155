"""How many records a batch may have, so that it stays within a number of bytes. Pure.

Offsets say nothing of bytes, so the size of the next records is an estimate from those that were read before:
the mean of the last batch or half of the estimate before that, whichever is more. It grows at once with the
records and falls slowly. Before a first batch that is more than a sample, a sample is measured. Records that
suddenly become larger can make one batch larger than the limit; the next one is within it again.
"""

from __future__ import annotations

#: Records of a sample: small enough for records of 1 MB, the largest ones by Kafka's default.
SAMPLE = 1000

#: Bytes of a record that is taken for small, and of one that may be as large as Kafka's default permits.
_UNKNOWN = 1024.0
_LARGE = float(1 << 20)

#: Records that Spark hands to Python at a time by default.
_MOST_HANDED = 10_000


class BatchSize:
    """The size of a topic's batches.

    Args:
        max_records: of a batch.
        max_bytes: of its records' keys and values, as they are in the topic.
    """

    def __init__(self, max_records: int, max_bytes: int) -> None:
        self._max_records = max(1, max_records)
        self._max_bytes = max_bytes
        #: Bytes of a record; None before any was measured.
        self._mean: float | None = None
        self._sample = SAMPLE

    @property
    def records(self) -> int:
        """The records that the next batch may have; those of a sample while nothing is known."""
        if self._mean is None:
            return min(self._max_records, self._sample)
        return max(1, min(self._max_records, int(self._max_bytes / max(1.0, self._mean))))

    def bytes_of(self, records: int) -> float:
        """An estimate of the bytes of this many records; until measured, they count as small."""
        return records * (_UNKNOWN if self._mean is None else self._mean)

    def records_within(self, size: int) -> int:
        """How many records have about this many bytes, 1 to 10,000; until measured, they count as large."""
        mean = _LARGE if self._mean is None else max(1.0, self._mean)
        return max(1, min(_MOST_HANDED, int(size / mean)))

    @property
    def needs_sample(self) -> bool:
        """Whether a sample has to be measured before a batch that is larger than that."""
        return self._mean is None and self._sample < self._max_records

    def measured(self, records: int, size: int) -> None:
        """Take account of records that were read, and of their bytes.

        A range without any, as compaction leaves them, makes the next sample ten times as large.
        """
        if records:
            self._mean = max(size / records, (self._mean or 0) / 2)
        elif self._mean is None:
            self._sample *= 10
