/** Codecs of schemas in a registry: what the three formats have in common. */

import type { Buffer } from 'node:buffer'
import { ParseError, type PayloadCodec, SchemaViolationError } from '@waybill/core'
import { nothingWritten, type SchemaViolation } from '@waybill/core/internal'
import type { SchemaDocument } from '../registry/schema-registry.ts'
import { unreadable } from './codec-errors.ts'
import type { ResolvedCodecOptions } from './codec-options.ts'
import { OwnSchema } from './own-schema.ts'
import { type ResolvedSchema, SchemaSource } from './schema-source.ts'
import { isFramed, readFrame, writeFrame } from './wire-frame.ts'

/**
 * Converts payloads to the bytes of Confluent's serializers and back. Its functions need no `this`: `decode` is the option of a
 * binding, the codec the option of an event.
 */
export interface SchemaCodec<T> extends PayloadCodec {
  /**
   * Returns a payload in the frame of its schema's id.
   *
   * @throws SchemaViolationError for a payload that the schema does not describe
   * @throws RegistryUnavailableError, SchemaNotRegisteredError: the same payload can be encoded later
   */
  encode(payload: T): Buffer | Promise<Buffer>
  /**
   * Returns the payload of framed bytes, resolved to the codec's own schema.
   *
   * @throws ParseError for bytes that can never be decoded, with the path of the first member that cannot be read
   * @throws RegistryUnavailableError: the same bytes can be decoded later
   */
  readonly decode: (bytes: Buffer) => Promise<T> | T
  /**
   * Returns the id of the codec's schema. Call it before a service starts, so that a missing schema stops the deployment and not
   * the first event.
   *
   * @throws RegistryUnavailableError, SchemaNotRegisteredError
   */
  schemaId(): Promise<number>
}

/** The parts in which formats differ. `W` is a writer's schema, compiled. */
export interface CodecFormat<W> {
  readonly mediaType: string
  readonly document: SchemaDocument
  violations(payload: unknown): readonly SchemaViolation[]
  /** Writes a payload without violations. */
  write(payload: unknown): readonly Uint8Array[]
  /** Compiles a writer's schema; null where bytes are read without it. */
  readonly compile: ((schema: ResolvedSchema) => W) | null
  read(body: Buffer, writer: W): unknown
  readAsWritten(body: Buffer, writer: W): unknown
}

/** Creates a codec. */
export function createSchemaCodec<T, W>(options: ResolvedCodecOptions, format: CodecFormat<W>): SchemaCodec<T> {
  const own = new OwnSchema(options, format.document)
  const source = format.compile && new SchemaSource(options, format.compile)

  const encode = (payload: unknown): Buffer | Promise<Buffer> => {
    const violations = format.violations(payload)
    if (violations.length > 0) throw new SchemaViolationError(options.subject, violations, nothingWritten)
    const parts = format.write(payload)
    const id = own.id()
    return typeof id === 'number' ? writeFrame(id, ...parts) : id.then((known) => writeFrame(known, ...parts))
  }

  const decodeWith = (bytes: Buffer, read: (body: Buffer, writer: W) => unknown): unknown => {
    const { schemaId, body } = readFrame(bytes)
    const writer = source?.schemaOf(schemaId)
    const readWith = (known: W): unknown => readSafely(() => read(body, known))
    return writer instanceof Promise ? writer.then(readWith) : readWith(writer as W)
  }

  return Object.freeze({
    mediaType: format.mediaType,
    destination: own.destination,
    recognizes: isFramed,
    violations: (payload: unknown) => format.violations(payload),
    encode,
    decode: (bytes: Buffer) => decodeWith(bytes, (body, writer) => format.read(body, writer)) as T,
    decodeAsWritten: (bytes: Buffer) => decodeWith(bytes, (body, writer) => format.readAsWritten(body, writer)),
    schemaId: async () => own.id(),
  })
}

/** Whatever a library throws for bytes, it throws again for the same bytes. */
function readSafely(read: () => unknown): unknown {
  try {
    return read()
  } catch (thrown) {
    if (thrown instanceof ParseError || thrown instanceof SchemaViolationError) throw thrown
    throw unreadable('', 'cannot be decoded', thrown)
  }
}
