import type { ErrorContext } from '../errors.ts'
import { type SchemaViolation, SchemaViolationError } from './event-errors.ts'
import type { InferOutput, SchemaIssue, SchemaResult, StandardSchema } from './standard-schema.ts'

/**
 * Validates a value with a schema.
 *
 * @throws {@link SchemaViolationError} with the path of each issue. What a schema throws instead of answering (a look-up
 * that failed, say) is passed on: trying again may help there.
 */
export async function validate<T extends StandardSchema>(
  schema: T,
  value: unknown,
  subject: string,
  context: ErrorContext,
): Promise<InferOutput<T>> {
  const result = await resultOf(schema, value)
  if (result.issues) throw new SchemaViolationError(subject, result.issues.map(toViolation), context)
  return result.value
}

async function resultOf(schema: StandardSchema, value: unknown): Promise<SchemaResult<unknown>> {
  try {
    return await schema['~standard'].validate(value)
  } catch (thrown) {
    // Validators recurse, and a payload may be nested deeper than the stack. That is the payload's fault, for good.
    if (!isStackOverflow(thrown)) throw thrown
    return { issues: [{ message: 'is nested too deeply' }] }
  }
}

function isStackOverflow(thrown: unknown): boolean {
  return thrown instanceof RangeError && thrown.message.includes('call stack')
}

function toViolation({ path, message }: SchemaIssue): SchemaViolation {
  return { path: formatPath(path ?? []), message }
}

/** Keys as one writes them: `items[0].price`, `["a-b"].c`. */
export function formatPath(keys: NonNullable<SchemaIssue['path']>): string {
  let path = ''
  for (const segment of keys) {
    const key = typeof segment === 'object' ? segment.key : segment
    if (typeof key === 'number' || /^\d+$/.test(String(key))) path += `[${String(key)}]`
    else if (/^[A-Za-z_$][\w$]*$/.test(String(key))) path += path === '' ? String(key) : `.${String(key)}`
    else path += `[${JSON.stringify(String(key))}]`
  }
  return path
}
