/** Producer identity and batch sequence numbers. */

/** A producer id and its epoch. A partition refuses an epoch older than the newest that wrote to it. */
export interface ProducerIdentity {
  readonly producerId: bigint
  readonly epoch: number
}

/** The epoch is an int16 on the wire. */
const highestEpoch = 2 ** 15 - 1

/**
 * Returns the identity to continue with after a batch whose outcome is unknown. Unlike a new producer id, the higher
 * epoch fences that batch: once a batch with it is written, the broker refuses the unknown one if it is still in
 * flight. So it appears in its place or never. Null when the epochs are used up; then only a new id helps.
 */
export function nextEpoch({ producerId, epoch }: ProducerIdentity): ProducerIdentity | null {
  return epoch < highestEpoch ? { producerId, epoch: epoch + 1 } : null
}

/** Returns the sequence number `count` records later. Sequences wrap to 0 after 2^31 - 1. */
export function sequenceAfter(sequence: number, count: number): number {
  return (sequence + count) % 2 ** 31
}
