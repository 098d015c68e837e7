/** Protobuf with a schema in a registry. */

import { Buffer } from 'node:buffer'
import { resolveOptions, text } from '@waybill/core/option'
import { unreadable } from './codec-errors.ts'
import { type CodecOptions, codecRules, type LongTreatment, libraryRule, longsRule } from './codec-options.ts'
import { readMessageIndexes, writeMessageIndexes } from './message-indexes.ts'
import { ProtobufFiles } from './protobuf-files.ts'
import type { ProtobufLibrary, ProtobufType } from './protobuf-library.ts'
import { messageViolations, payloadOfMessage } from './protobuf-values.ts'
import { scanProtobuf } from './scan-protobuf.ts'
import { createSchemaCodec, type SchemaCodec } from './schema-codec.ts'

/** Options of {@link createProtobufCodec}. */
export interface ProtobufCodecOptions extends CodecOptions {
  /** The library protobufjs: `import protobuf from 'protobufjs'`. */
  readonly protobuf: ProtobufLibrary
  /** The text of a `.proto` file. The files that it imports are `references`, but for those of `google/protobuf`. */
  readonly schema: string
  /** The message type with its package: `shop.OrderPlaced`. */
  readonly message: string
  /** Type of 64-bit integers in payloads. With NUMBER, integers beyond 2^53 are refused. @defaultValue `NUMBER` */
  readonly longs?: LongTreatment | undefined
}

const rules = {
  ...codecRules,
  protobuf: libraryRule<ProtobufLibrary>('the library protobufjs', 'Root', 'parse', 'common'),
  schema: text(),
  message: text(),
  longs: longsRule,
}

/** A writer's schema. */
interface Writer {
  nameAt(indexes: readonly number[]): string | undefined
  /** The type of the writer, compiled for the first value that is read as it was written. */
  type(): ProtobufType
}

/**
 * Creates a codec for Protobuf as Confluent's serializers frame it. Payloads are JSON values with names in camel case; bytes are
 * base64 text and enumerations their names. A payload of another message type is refused, not misread.
 *
 * @throws OptionsError
 * @throws ArgumentError for a message type that the schema does not have, and Error of protobufjs for a schema that is none
 */
export function createProtobufCodec<T = unknown>(options: ProtobufCodecOptions): SchemaCodec<T> {
  const { protobuf, schema, message, longs, ...resolved } = resolveOptions('createProtobufCodec', rules, options)
  const files = new ProtobufFiles(protobuf)
  const indexes = writeMessageIndexes(files.indexesOf(schema, message))
  const texts = new Map(resolved.references.map((reference) => [reference.name, reference.schema]))
  const own = files.compile(schema, texts, message)

  const read = (body: Buffer, writer: Writer, typeOf: () => ProtobufType): unknown => {
    const framed = readMessageIndexes(body)
    const name = writer.nameAt(framed.indexes)
    if (name !== message)
      throw unreadable('', `is ${name ?? 'of a message type that its schema does not have'}, not ${message}`)
    const type = typeOf()
    scanProtobuf(type, framed.message)
    return payloadOfMessage(type, type.decode(framed.message), longs)
  }

  return createSchemaCodec<T, Writer>(resolved, {
    mediaType: 'application/x-protobuf',
    document: {
      schemaType: 'PROTOBUF',
      schema,
      references: resolved.references.map(({ name, subject, version }) => ({ name, subject, version })),
    },
    violations: (payload) => messageViolations(own, payload),
    write: (payload) => [indexes, Buffer.from(own.encode(own.fromObject(payload as object)).finish())],
    compile: ({ document, references }) => {
      if (document.schemaType !== 'PROTOBUF') throw unreadable('', `is ${document.schemaType} and not PROTOBUF`)
      let type: ProtobufType | undefined
      return {
        nameAt: files.namesOf(document.schema),
        type: () => (type ??= files.compile(document.schema, references, message)),
      }
    },
    read: (body, writer) => read(body, writer, () => own),
    readAsWritten: (body, writer) => read(body, writer, () => writer.type()),
  })
}
