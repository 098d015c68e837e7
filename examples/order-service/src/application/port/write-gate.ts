/** Says whether this region takes writes. */
export interface WriteGate {
  /** @throws WritesRejectedError while the region is passive or overloaded */
  assertWriteAllowed(): void
}
