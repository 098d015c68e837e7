import type { StandardSchema } from '../event/standard-schema.ts'
import { definitionOf, type EventCatalog, type Schemas } from './catalog.ts'
import { readPayload } from './read-payload.ts'
import type { Upcaster } from './upcaster.ts'

/** A version of an event that a catalog has a schema for. */
export interface EventVersion {
  readonly version: number
  readonly schema: StandardSchema
  /** The step to the next version; null for the newest one. */
  readonly step: Upcaster | null
}

/**
 * Returns the versions of an event with a schema of their own, the oldest first: those that steps start from, and the newest
 * one. Without steps it is the newest one alone, whose schema reads all versions.
 *
 * @throws {@link UnknownEventTypeError} for a name the catalog does not have.
 */
export function versionsOf<S extends Schemas>(catalog: EventCatalog<S>, name: string): readonly EventVersion[] {
  const { version: newest, schema, upcasters = {} } = definitionOf(catalog, name)
  const older = Object.entries(upcasters).map(([from, step]) => ({ version: Number(from), schema: step.from, step }))
  return [...older.toSorted((one, other) => one.version - other.version), { version: newest, schema, step: null }]
}

/**
 * Takes the JSON of a payload of any version to the newest one, as a consumer does.
 *
 * @throws {@link UnknownEventTypeError}, {@link SchemaViolationError}, and what a schema itself throws.
 */
export async function upcastPayload<S extends Schemas>(
  catalog: EventCatalog<S>,
  name: string,
  version: number,
  payload: unknown,
): Promise<unknown> {
  return readPayload(name, definitionOf(catalog, name), version, payload)
}
