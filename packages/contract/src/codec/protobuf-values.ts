/**
 * Payloads of Protobuf messages as JSON values, after the JSON mapping of Protobuf: names in camel case, bytes as base64,
 * enumerations by name. Unlike the library's own conversion it rounds nothing and drops nothing.
 */

import { Buffer } from 'node:buffer'
import { formatPath, type SchemaViolation } from '@waybill/core/internal'
import { isPlainObject } from '@waybill/core/option'
import { unreadable } from './codec-errors.ts'
import type { LongTreatment } from './codec-options.ts'
import { enumOf, messageOf, type ProtobufField, type ProtobufType } from './protobuf-library.ts'

const specialNumbers: ReadonlySet<unknown> = new Set(['NaN', 'Infinity', '-Infinity'])

/** The ranges of integers. */
const ranges: ReadonlyMap<string, readonly [bigint, bigint]> = new Map(
  Object.entries<readonly [bigint, bigint]>({
    int32: [-(2n ** 31n), 2n ** 31n - 1n],
    sint32: [-(2n ** 31n), 2n ** 31n - 1n],
    sfixed32: [-(2n ** 31n), 2n ** 31n - 1n],
    uint32: [0n, 2n ** 32n - 1n],
    fixed32: [0n, 2n ** 32n - 1n],
    int64: [-(2n ** 63n), 2n ** 63n - 1n],
    sint64: [-(2n ** 63n), 2n ** 63n - 1n],
    sfixed64: [-(2n ** 63n), 2n ** 63n - 1n],
    uint64: [0n, 2n ** 64n - 1n],
    fixed64: [0n, 2n ** 64n - 1n],
  }),
)

/** Returns why a payload cannot be written as a message. */
export function messageViolations(type: ProtobufType, payload: unknown): readonly SchemaViolation[] {
  const violations: SchemaViolation[] = []
  checkMessage(type, payload, [], (path, message) => violations.push({ path: formatPath(path), message }))
  return violations
}

type Path = readonly string[]
type Report = (path: Path, message: string) => void

function checkMessage(type: ProtobufType, value: unknown, path: Path, report: Report): void {
  if (!isPlainObject(value)) return report(path, 'is not an object')
  for (const [name, member] of Object.entries(value)) {
    const field = Object.hasOwn(type.fields, name) ? type.fields[name] : undefined
    if (field === undefined) report([...path, name], 'is not declared')
    else if (member !== undefined) checkField(field, member, [...path, name], report)
  }
  for (const field of type.fieldsArray) {
    if (field.required && value[field.name] === undefined) report([...path, field.name], 'is required')
    const others = (field.partOf?.fieldsArray ?? []).filter(({ name }) => value[name] !== undefined)
    if (others.length > 1 && others[0] === field)
      report(path, `has ${others.map(({ name }) => name).join(' and ')}, of which only one may be set`)
  }
}

function checkField(field: ProtobufField, value: unknown, path: Path, report: Report): void {
  if (value === null) return report(path, 'is null, which Protobuf cannot write: leave it out')
  if (field.map) {
    if (!isPlainObject(value)) return report(path, 'is not an object')
    for (const [key, member] of Object.entries(value)) {
      if (field.keyType !== 'string' && !isInteger(field.keyType ?? '', key))
        report([...path, key], `is not under a key of type ${field.keyType}`)
      checkSingle(field, member, [...path, key], report)
    }
    return
  }
  if (!field.repeated) return checkSingle(field, value, path, report)
  if (!Array.isArray(value)) return report(path, 'is not an array')
  for (const [index, item] of value.entries()) checkSingle(field, item, [...path, String(index)], report)
}

function checkSingle(field: ProtobufField, value: unknown, path: Path, report: Report): void {
  const message = messageOf(field)
  if (message !== null) return checkMessage(message, value, path, report)
  const names = enumOf(field)?.values
  if (names !== undefined) {
    if (typeof value !== 'string' || !Object.hasOwn(names, value))
      report(path, `is not one of ${Object.keys(names).join(', ')}`)
  } else if (!isScalar(field.type, value)) report(path, `is no ${field.type}`)
}

function isScalar(type: string, value: unknown): boolean {
  if (type === 'string') return typeof value === 'string' && value.isWellFormed()
  if (type === 'bool') return typeof value === 'boolean'
  if (type === 'bytes') return typeof value === 'string' && Buffer.from(value, 'base64').toString('base64') === value
  if (type === 'double' || type === 'float') return Number.isFinite(value) || specialNumbers.has(value)
  return isInteger(type, value)
}

function isInteger(type: string, value: unknown): boolean {
  const [lowest, highest] = ranges.get(type) ?? [1n, 0n]
  const isText = typeof value === 'string' && /^(?:0|-?[1-9]\d{0,19})$/.test(value)
  if (!isText && !Number.isSafeInteger(value)) return false
  const integer = BigInt(value as string | number)
  return integer >= lowest && integer <= highest
}

/** Returns the payload of a decoded message. @throws ParseError */
export function payloadOfMessage(type: ProtobufType, message: object, longs: LongTreatment): unknown {
  return memberValues(type, message as Values, longs, [])
}

type Values = Readonly<Record<string, unknown>>

function memberValues(type: ProtobufType, message: Values, longs: LongTreatment, path: Path): unknown {
  const members = type.fieldsArray.flatMap((field): [string, unknown][] => {
    const { name } = field
    const inner = [...path, name]
    const value = Object.hasOwn(message, name) ? message[name] : undefined
    if (field.map) return [[name, mapValues(field, (value ?? {}) as Values, longs, inner)]]
    if (field.repeated) {
      const items = (value ?? []) as readonly unknown[]
      return [[name, items.map((item, index) => single(field, item, longs, [...inner, String(index)]))]]
    }
    // A field without presence has its default when it is absent: that is how the writer wrote it.
    const given = value ?? (field.hasPresence || messageOf(field) !== null ? undefined : field.defaultValue)
    return given === undefined || given === null ? [] : [[name, single(field, given, longs, inner)]]
  })
  return Object.fromEntries(members)
}

function mapValues(field: ProtobufField, values: Values, longs: LongTreatment, path: Path): unknown {
  return Object.fromEntries(
    Object.entries(values).map(([key, value]) => {
      if (key === '__proto__') throw unreadable(formatPath(path), 'has a key "__proto__"')
      return [key, single(field, value, longs, [...path, key])]
    }),
  )
}

function single(field: ProtobufField, value: unknown, longs: LongTreatment, path: Path): unknown {
  const message = messageOf(field)
  if (message !== null) return memberValues(message, value as Values, longs, path)
  const names = enumOf(field)?.valuesById
  // A name that only the writer's schema has: the number says more than nothing.
  if (names !== undefined) return names[value as number] ?? value
  if (field.type === 'bytes') return Buffer.from(value as Uint8Array).toString('base64')
  if (field.type === 'double' || field.type === 'float') return Number.isFinite(value) ? value : String(value)
  if (!field.type.endsWith('64')) return value
  const text = String(value)
  if (longs === 'STRING') return text
  if (Number.isSafeInteger(Number(text))) return Number(text)
  throw unreadable(formatPath(path), "is an integer that a number cannot hold; set longs: 'STRING'")
}
