/** What the broker knows a producer by, and how its batches are numbered. */

/** A producer id and its epoch. A partition refuses an epoch older than the newest that wrote to it. */
export interface ProducerIdentity {
  readonly producerId: bigint
  readonly epoch: number
}

/** The epoch is an int16 on the wire. */
const highestEpoch = 2 ** 15 - 1

/**
 * The identity to go on with after a batch whose fate is unknown. The higher epoch does what a new producer id could
 * not: once a batch with it is written, the broker refuses the unknown one should it still be on its way, so that it
 * appears in its place or never. Null when the epochs are used up; then only a new id helps.
 */
export function nextEpoch({ producerId, epoch }: ProducerIdentity): ProducerIdentity | null {
  return epoch < highestEpoch ? { producerId, epoch: epoch + 1 } : null
}

/** The number of the record that comes `count` records later. Numbers of an epoch start again at 0 after 2^31 - 1. */
export function sequenceAfter(sequence: number, count: number): number {
  return (sequence + count) % 2 ** 31
}
