import { ArgumentError } from '@waybill/core'
import { pythonSet, pythonText } from './python-text.ts'

/**
 * Returns the violations of the FULL policy between two versions of an event's schema; empty when they are compatible. Added
 * required properties, removed required properties and changed types of the top level count, in this order; names are sorted.
 *
 * This is the specified check and its blind spots are part of it: a property that only leaves `required` passes, and so
 * does every change inside a property. {@link compareSchemas} finds those.
 *
 * @throws {@link ArgumentError} for what is no JSON Schema of an object.
 */
export function checkCompatibility(older: object, newer: object): readonly string[] {
  const before = membersOf(older)
  const after = membersOf(newer)
  const added = [...after.required].filter((name) => !before.required.has(name))
  const removed = [...before.properties.keys()].filter((name) => !after.properties.has(name))
  const kept = [...before.properties.keys()].filter((name) => after.properties.has(name))
  return [
    ...(added.length === 0 ? [] : [`Added required fields: ${pythonSet(added)}`]),
    ...removed
      .filter((name) => before.required.has(name))
      .toSorted()
      .map((name) => `Removed required field: ${name}`),
    ...kept.toSorted().flatMap((name) => {
      const [from, to] = [before.properties.get(name), after.properties.get(name)]
      // Texts tell lists apart as Python does: by their items and their order.
      return JSON.stringify(from) === JSON.stringify(to)
        ? []
        : [`Type change for ${name}: ${pythonText(from)} -> ${pythonText(to)}`]
    }),
  ]
}

interface Members {
  readonly required: ReadonlySet<string>
  /** The `type` of each property; undefined where it has none. */
  readonly properties: ReadonlyMap<string, unknown>
}

function membersOf(schema: unknown): Members {
  if (!isObject(schema)) throw notASchema('an object')
  const { required = [], properties = {} } = schema
  if (!Array.isArray(required)) throw notASchema('an object whose "required" is a list')
  if (!isObject(properties)) throw notASchema('an object whose "properties" is an object')
  return {
    required: new Set(required.map(String)),
    properties: new Map(
      Object.entries(properties).map(([name, inner]) => [name, isObject(inner) ? inner['type'] : undefined]),
    ),
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function notASchema(expected: string): ArgumentError {
  return new ArgumentError(`The schema of an event is ${expected}.`, {
    hint: 'Pass the JSON Schema of the payload, as it is in its contract file.',
  })
}
