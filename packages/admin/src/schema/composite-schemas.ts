import { isPlainObject, nearest, type Report } from '@waybill/core/option'
import { type Fields, type JsonSchema, type ReadFields, type Schema, type SchemaWriter, schemaOf } from './schema.ts'

/** An object with exactly these keys. Unknown ones are refused with the nearest known name. */
export function object<F extends Fields>(fields: F): Schema<ReadFields<F>> {
  return {
    ...schemaOf<ReadFields<F>>({ expects: 'an object', json: {}, convert: () => undefined }),
    write: (writer) => writeFields(fields, writer),
    read(value, path, report) {
      if (!isPlainObject(value)) report(path, 'must be an object')
      return readFields(fields, isPlainObject(value) ? value : {}, path, report)
    },
  }
}

/** Reads the values of fields, of a body or of a query. */
export function readFields<F extends Fields>(
  fields: F,
  given: Readonly<Record<string, unknown>>,
  path: string,
  report: Report,
): ReadFields<F> {
  const known = Object.keys(fields)
  for (const key of Object.keys(given)) {
    if (Object.hasOwn(fields, key)) continue
    const meant = key.length < 100 ? nearest(key, known) : undefined
    report(join(path, key), `is unknown${meant === undefined ? '' : `; did you mean ${meant}?`}`)
  }
  const result: Record<string, unknown> = {}
  for (const [key, field] of Object.entries(fields)) {
    const own = Object.hasOwn(given, key) ? given[key] : undefined
    const value = own === undefined ? field.fallback : own
    if (value !== undefined) result[key] = field.read(value, join(path, key), report)
    else if (!field.isOptional) report(join(path, key), `is required: ${field.expects}`)
  }
  return result as ReadFields<F>
}

/** Describes an object with these fields. */
export function writeFields(fields: Fields, writer: SchemaWriter): JsonSchema {
  const required = Object.entries(fields).flatMap(([key, field]) => (field.isOptional ? [] : [key]))
  return {
    type: 'object',
    properties: Object.fromEntries(Object.entries(fields).map(([key, field]) => [key, field.write(writer)])),
    ...(required.length === 0 ? {} : { required }),
    ...(writer.side === 'INPUT' ? { additionalProperties: false } : {}),
  }
}

/** A list of values. In a query they are separated by commas. */
export function list<T>(
  item: Schema<T>,
  { min = 0, max }: { readonly min?: number; readonly max?: number } = {},
): Schema<readonly T[]> {
  const size = max === undefined ? '' : ` of ${min} to ${max}`
  return {
    ...schemaOf<readonly T[]>({ expects: `a list${size}, each ${item.expects}`, json: {}, convert: () => undefined }),
    ofText: (text) => text.split(',').map((part) => item.ofText(part)),
    write: (writer) => ({
      type: 'array',
      items: item.write(writer),
      ...(min === 0 ? {} : { minItems: min }),
      ...(max === undefined ? {} : { maxItems: max }),
    }),
    read(value, path, report) {
      if (!Array.isArray(value) || value.length < min || value.length > (max ?? value.length)) {
        report(path, `must be a list${size}, each ${item.expects}`)
        return []
      }
      return value.map((one, index) => item.read(one, `${path}[${index}]`, report))
    },
  }
}

/** An object with any keys, as counts by reason have. */
export function mapOf<T>(item: Schema<T>): Schema<Readonly<Record<string, T>>> {
  return {
    ...schemaOf<Readonly<Record<string, T>>>({ expects: 'an object', json: {}, convert: () => undefined }),
    write: (writer) => ({ type: 'object', additionalProperties: item.write(writer) }),
    read(value, path, report) {
      if (!isPlainObject(value)) report(path, `must be an object whose every value is ${item.expects}`)
      const entries = isPlainObject(value) ? Object.entries(value) : []
      return Object.fromEntries(entries.map(([key, one]) => [key, item.read(one, join(path, key), report)]))
    },
  }
}

/** A value of the first of several schemas that accepts it. */
export function anyOf<T>(expects: string, schemas: readonly Schema<T>[]): Schema<T> {
  return {
    ...schemaOf<T>({ expects, json: {}, convert: () => undefined }),
    write: (writer) => ({ anyOf: schemas.map((schema) => schema.write(writer)) }),
    read(value, path, report) {
      for (const schema of schemas) {
        let isWrong = false
        const result = schema.read(value, path, () => {
          isWrong = true
        })
        if (!isWrong) return result
      }
      report(path, `must be ${expects}`)
      return undefined as T
    },
  }
}

function join(path: string, key: string): string {
  const shown = key.length > 60 ? `${key.slice(0, 60)}…` : key
  if (!/^[A-Za-z_$][\w$]*$/.test(shown)) return `${path}[${JSON.stringify(shown)}]`
  return path === '' ? shown : `${path}.${shown}`
}
