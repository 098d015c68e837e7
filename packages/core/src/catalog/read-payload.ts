import { describeThrown, type ErrorContext } from '../errors.ts'
import { recordUnchanged } from '../event/error-context.ts'
import { SchemaViolationError } from '../event/event-errors.ts'
import type { StandardSchema } from '../event/standard-schema.ts'
import { validate } from '../event/validate.ts'
import type { DefinedEvent } from './catalog.ts'
import type { UnknownVersionReport } from './unknown-version.ts'
import type { Upcaster } from './upcaster.ts'

/** The first version, which an unknown version is taken for. */
const firstVersion = 1

/**
 * Validates the payload of an event with the schema of its version and takes it through the steps to the newest version. Each
 * result is validated with the schema that its step leads to.
 *
 * Without steps the one schema of the event reads all versions. A version above the newest is read as version 1.
 *
 * @returns the output of the event's schema
 * @throws {@link SchemaViolationError} for a payload or a result of a step that its schema refuses, and for a step that throws.
 */
export async function readPayload(
  name: string,
  definition: DefinedEvent<StandardSchema>,
  version: number,
  payload: unknown,
  reportUnknown: UnknownVersionReport = () => {},
): Promise<unknown> {
  const isKnown = version <= definition.version
  if (!isKnown) reportUnknown(name, version)
  const first = isKnown ? version : firstVersion
  const schema = definition.upcasters?.[first]?.from ?? definition.schema
  const subject = isKnown ? subjectOf(name, definition, version) : `${name} version ${version}, read as version 1,`
  let read: unknown = await validate(schema, payload, subject, isKnown ? recordUnchanged : laterVersion(version))
  for (let from = first; ; from += 1) {
    const step = definition.upcasters?.[from]
    if (step === undefined) return read
    read = await takeStep(`${name}, upcast from version ${from} to ${from + 1},`, step, read)
  }
}

async function takeStep(subject: string, step: Upcaster, old: unknown): Promise<unknown> {
  let raised: unknown
  try {
    raised = step.up(old)
  } catch (thrown) {
    const violation = { path: '', message: `the step threw ${describeThrown(thrown)}` }
    throw new SchemaViolationError(subject, [violation], { ...stepContext, cause: thrown })
  }
  return validate(step.to, raised, subject, stepContext)
}

const stepContext: ErrorContext = Object.freeze({
  ...recordUnchanged,
  hint: 'Correct the upcaster of this version, then replay the dead letter.',
})

/** A schema of several versions is not named by one of them. */
function subjectOf(
  name: string,
  { upcasters, version: newest }: DefinedEvent<StandardSchema>,
  version: number,
): string {
  return upcasters === undefined || version === newest ? name : `${name} version ${version}`
}

function laterVersion(version: number): ErrorContext {
  return {
    ...recordUnchanged,
    hint: `Deploy a consumer whose catalog has version ${version}, then replay the dead letter.`,
  }
}
