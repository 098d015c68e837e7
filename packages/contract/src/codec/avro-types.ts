/** Compiles Avro schemas so that their values are JSON: bytes are base64, and 64-bit integers are numbers or decimal text. */

import { Buffer } from 'node:buffer'
import { ArgumentError } from '@waybill/core'
import type { AvroLibrary, AvroParts } from './avro-library.ts'
import { unreadable } from './codec-errors.ts'
import type { LongTreatment } from './codec-options.ts'

/** The options of avsc that a hook receives. */
interface HookOptions {
  readonly registry: object
  readonly namespace?: string
}

/** Compiles a schema after those that it refers to. @throws Error of avsc for a schema that is none */
export type AvroCompiler = (schema: string, references: ReadonlyMap<string, string>) => AvroParts

/** Creates a compiler. The library derives classes of its own, so it is made once for each codec. */
export function createAvroCompiler(avro: AvroLibrary, longs: LongTreatment): AvroCompiler {
  const Base64Type = base64TypeOf(avro)
  const numberType = longTypeOf(avro, 'NUMBER')
  const longType = longTypeOf(avro, longs)

  const forSchema = avro.Type.forSchema as (schema: unknown, options: object) => AvroParts
  const WrappedUnionType = avro.types.WrappedUnionType as new (
    branches: readonly AvroParts[],
    options: object,
  ) => AvroParts
  const wrapped = (branches: readonly AvroParts[], options: object): AvroParts =>
    new WrappedUnionType(branches, options)

  const typeHook = (schema: unknown, options: HookOptions): unknown => {
    if (Array.isArray(schema)) {
      refuseTwoTexts(schema)
      return hasTwoNumbers(schema)
        ? wrapped(
            schema.map((branch) => forSchema(branch, options)),
            options,
          )
        : undefined
    }
    const { type, logicalType } = (typeof schema === 'string' ? { type: schema } : schema) as {
      type?: unknown
      logicalType?: unknown
    }
    if (type === 'bytes' || type === 'fixed') return new Base64Type(schema, { ...options, typeHook: undefined })
    if (type !== 'long') return undefined
    // Times and dates stay numbers: they fit.
    return logicalType === undefined ? longType : numberType
  }

  return (schema, references) => {
    const options = { registry: {}, typeHook, omitRecordMethods: true }
    for (const text of references.values()) forSchema(parse(text), { ...options })
    return forSchema(parse(schema), { ...options })
  }
}

/** A schema that is one name, such as `"string"`, may stand without quotes. */
function parse(schema: string): unknown {
  return /^\s*[{["]/.test(schema) ? JSON.parse(schema) : schema.trim()
}

function kindsOf(union: readonly unknown[]): readonly unknown[] {
  return union.map((branch) => (typeof branch === 'string' ? branch : (branch as { type?: unknown } | null)?.type))
}

/** The library sees this only of its own `long`. */
function hasTwoNumbers(union: readonly unknown[]): boolean {
  return kindsOf(union).filter((kind) => ['int', 'long', 'float', 'double'].includes(kind as string)).length > 1
}

/** In JSON the two are both strings, so nothing would tell them apart. */
function refuseTwoTexts(union: readonly unknown[]): void {
  const kinds = kindsOf(union)
  const isBinary = kinds.some((kind) => kind === 'bytes' || kind === 'fixed')
  if (isBinary && kinds.some((kind) => kind === 'string' || kind === 'enum'))
    throw new ArgumentError('A union of text and bytes cannot be written as JSON.', {
      hint: 'Use two fields, or a record around one of the branches.',
    })
}

interface LogicalBase {
  readonly underlyingType: AvroParts
}

type Base64Constructor = new (schema: unknown, options: object) => AvroParts

function base64TypeOf({ types }: AvroLibrary): Base64Constructor {
  const LogicalType = types.LogicalType as new (schema: unknown, options: object) => LogicalBase
  // The names of the methods are those that avsc calls.
  return class Base64Type extends LogicalType {
    _fromValue(bytes: Buffer): string {
      return bytes.toString('base64')
    }

    _toValue(text: unknown): Buffer | undefined {
      if (typeof text !== 'string') return undefined
      const bytes = Buffer.from(text, 'base64')
      return bytes.toString('base64') === text ? bytes : undefined
    }

    _resolve(writer: AvroParts): ((value: unknown) => unknown) | undefined {
      if (writer instanceof Base64Type) return isSame(this.underlyingType, writer.underlyingType) ? keep : undefined
      const isText = writer.typeName === 'string' && this.underlyingType.typeName === 'bytes'
      return isText ? (value) => Buffer.from(value as string, 'utf8').toString('base64') : undefined
    }
  } as unknown as Base64Constructor
}

const keep = (value: unknown): unknown => value

function isSame(reader: AvroParts, writer: AvroParts): boolean {
  return reader.typeName === writer.typeName && reader.size === writer.size
}

const decimal = /^(?:0|-?[1-9]\d{0,18})$/

/** The library's own type loses the last digit of integers beyond 2^52. */
function longTypeOf({ types }: AvroLibrary, longs: LongTreatment): unknown {
  const { __with: create } = types.LongType as { __with: (methods: object) => unknown }
  const isLong = (value: unknown): boolean =>
    Number.isSafeInteger(value) ||
    (longs === 'STRING' &&
      typeof value === 'string' &&
      decimal.test(value) &&
      BigInt.asIntN(64, BigInt(value)) === BigInt(value))
  return create({
    fromBuffer(bytes: Buffer) {
      const exact = bytes.readBigInt64LE()
      if (longs === 'STRING') return exact.toString()
      const value = Number(exact)
      if (Number.isSafeInteger(value)) return value
      throw unreadable('', 'has an integer that a number cannot hold')
    },
    toBuffer(value: string | number) {
      const bytes = Buffer.alloc(8)
      bytes.writeBigInt64LE(BigInt(value))
      return bytes
    },
    fromJSON: longs === 'STRING' ? String : Number,
    toJSON: Number,
    isValid: isLong,
    compare: (one: string | number, other: string | number) => Number(BigInt(one) - BigInt(other)),
  })
}
