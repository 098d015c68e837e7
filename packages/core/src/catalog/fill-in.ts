import { isDeepStrictEqual } from 'node:util'
import type { StandardSchema } from '../event/standard-schema.ts'
import { inputSchemaOf } from './declare-payload.ts'
import { itemPlace, memberPlace, type SchemaPlace } from './schema-place.ts'

/** Validates a payload as the schema of its event does. */
type Validate = (payload: unknown) => Promise<unknown>

/**
 * Returns the payload with the members that its schema filled in, such as defaults: consumers without this schema read them,
 * too. A generated default is the one that the schema made for this payload.
 *
 * A member counts as filled in if the schema declares it, its output has it, and the schema makes the same of the payload with it.
 * So the results of transformations stay out: the record has what a writer passes.
 *
 * @param written - the payload as JSON
 * @param output - the schema's output for it
 */
export async function fillIn(
  schema: StandardSchema,
  written: unknown,
  output: unknown,
  validate: Validate,
): Promise<unknown> {
  const declared = hasMore(written, output) ? inputSchemaOf(schema) : null
  if (declared === null) return written
  const filled = withMembersOf({ root: declared, nodes: [declared] }, written, output)
  if (filled === written) return written
  try {
    return isDeepStrictEqual(await validate(structuredClone(filled)), output) ? filled : written
  } catch {
    return written // The output is no input: the payload stays as it was passed, which is valid.
  }
}

/** Returns whether the output has a member that the payload lacks: for most events it has none, and nothing else is done. */
function hasMore(written: unknown, output: unknown): boolean {
  if (written === output || !isContainer(written) || !isContainer(output)) return false
  for (const name in output) if (!Object.hasOwn(written, name) || hasMore(written[name], output[name])) return true
  return false
}

/** Adds members of the output that the payload lacks. Returns the payload itself if it lacks none. */
function withMembersOf(place: SchemaPlace, written: unknown, output: unknown): unknown {
  if (written === output || !isContainer(written) || !isContainer(output)) return written
  const inner = (name: string): unknown => withMembersOf(memberPlace(place, written, name), written[name], output[name])
  if (Array.isArray(written) || Array.isArray(output)) {
    if (!Array.isArray(written) || !Array.isArray(output) || written.length !== output.length) return written
    const items = written.map((item: unknown, index) =>
      withMembersOf(itemPlace(place, written, index), item, output[index]),
    )
    return items.every((item, index) => item === written[index]) ? written : items
  }
  const kept = Object.keys(written).map((name): [string, unknown] => [name, inner(name)])
  const added = Object.entries(output).filter(
    ([name, value]) =>
      !Object.hasOwn(written, name) && memberPlace(place, written, name).nodes.length > 0 && isJson(value),
  )
  const isSame = added.length === 0 && kept.every(([name, value]) => value === written[name])
  return isSame ? written : Object.fromEntries([...kept, ...added])
}

function isContainer(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null
}

/** Returns whether JSON gives a value back as it was. A date or a big integer is the result of a transformation. */
function isJson(value: unknown): boolean {
  try {
    return isDeepStrictEqual(JSON.parse(JSON.stringify(value)), value)
  } catch {
    return false
  }
}
