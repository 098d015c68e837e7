import { nothingWritten } from '../event/error-context.ts'
import { type SchemaViolation, SchemaViolationError } from '../event/event-errors.ts'
import type { StandardSchema } from '../event/standard-schema.ts'
import { formatPath } from '../event/validate.ts'
import { withoutUndeclared } from './declared-members.ts'

/** The treatment of members that the schema of an event does not declare. */
export type UndeclaredMembers = 'REFUSE' | 'STRIP' | 'ALLOW'

const known = new WeakMap<StandardSchema, Readonly<Record<string, unknown>> | null>()

/**
 * Returns the payload as its schema declares it: members that it does not declare are refused, or left out. Readers of other
 * versions rely on that when an optional member is added: an old event cannot have it with another type.
 *
 * A place that JSON Schema cannot describe may hold anything, and a schema whose library cannot tell its JSON Schema is not
 * checked.
 *
 * @throws {@link SchemaViolationError} with the path of each undeclared member.
 */
export function declarePayload(
  name: string,
  schema: StandardSchema,
  written: unknown,
  treatment: UndeclaredMembers,
): unknown {
  if (treatment === 'ALLOW') return written
  const declared = inputSchemaOf(schema)
  if (declared === null) return written
  const { value, undeclared } = withoutUndeclared(declared, written)
  if (undeclared.length === 0 || treatment === 'STRIP') return value
  const violations = undeclared.map((path): SchemaViolation => ({ path: formatPath(path), message: 'is not declared' }))
  throw new SchemaViolationError(name, violations, {
    ...nothingWritten,
    hint: "Add it to the schema, leave it out, or define the events with undeclared: 'STRIP'.",
  })
}

/** Returns the JSON Schema of what a writer passes; null if there is none. Made once for each schema. */
export function inputSchemaOf(schema: StandardSchema): Readonly<Record<string, unknown>> | null {
  const earlier = known.get(schema)
  if (earlier !== undefined) return earlier
  const made = makeInputSchema(schema)
  known.set(schema, made)
  return made
}

function makeInputSchema(schema: StandardSchema): Readonly<Record<string, unknown>> | null {
  const { jsonSchema } = schema['~standard'] as { jsonSchema?: JsonSchemaSource }
  for (const options of [{}, { libraryOptions: undescribedAsAny }])
    try {
      const made = jsonSchema?.input?.({ target: 'draft-2020-12', ...options })
      return typeof made === 'object' && made !== null ? (made as Readonly<Record<string, unknown>>) : null
    } catch {
      // The library says that JSON Schema cannot describe a place. The others are still declared.
    }
  return null
}

interface JsonSchemaSource {
  readonly input?: (options: { target: string; libraryOptions?: object }) => unknown
}

/** The options of zod and valibot by which a place that JSON Schema cannot describe accepts anything. */
const undescribedAsAny = { unrepresentable: 'any', errorMode: 'ignore' }
