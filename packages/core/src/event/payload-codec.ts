import type { SchemaViolation } from './event-errors.ts'

/** Converts payloads to bytes and back, where records do not hold them as JSON text. */
export interface PayloadCodec {
  /** The media type of the bytes: `application/vnd.apache.avro`. */
  readonly mediaType: string
  /**
   * Names what must be reachable to encode, such as a subject of a schema registry. While it is not, events with this codec
   * wait, and the others continue.
   */
  readonly destination: string
  /** Returns whether bytes are of this codec. Other payloads are read as JSON text, so records from before the codec stay readable. */
  recognizes(bytes: Uint8Array): boolean
  /** Returns why a payload cannot be encoded. Called before an event is written: later it can no longer be refused. */
  violations(payload: unknown): readonly SchemaViolation[]
  /**
   * Returns the bytes of a payload; later, where something has to be looked up first.
   *
   * @throws {@link SchemaViolationError} for a payload with violations, {@link UnavailableError} where it can be encoded later.
   */
  encode(payload: unknown): Buffer | Promise<Buffer>
  /**
   * Returns the payload of bytes, as the codec's own schema describes it.
   *
   * @throws {@link ParseError} for bytes that can never be decoded; any other error may pass.
   */
  decode(bytes: Buffer): unknown
  /** The same, as the schema of the writer describes it: upcasters take older payloads as they were written. */
  decodeAsWritten(bytes: Buffer): unknown
}
