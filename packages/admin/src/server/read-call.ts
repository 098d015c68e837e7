import { OptionsError } from '@waybill/core'
import type { OptionViolation } from '@waybill/core/option'
import { isPlainObject, type Report } from '@waybill/core/option'
import { AdminRequestError, ReasonRequiredError } from '../problem/admin-errors.ts'
import { isSchema, type Route } from '../route/route.ts'
import { readFields } from '../schema/composite-schemas.ts'
import { about, type Fields, optional, type Schema } from '../schema/schema.ts'
import { boolean, text } from '../schema/value-schemas.ts'

/** The reason of a change. */
export const reasonField: Schema<string | undefined> = optional(
  about('Goes to the audit log. Alternatively the header Waybill-Reason.', text({ max: 500 })),
)

const dryRunField: Schema<boolean | undefined> = optional(about('Checks the change and makes none.', boolean))

/** Returns the parameters of a route, with those that changes have in common. */
export function queryOf({ query = {}, change, hasDryRun }: Route): Fields {
  return change !== undefined && hasDryRun ? { ...query, dryRun: dryRunField } : query
}

/** Returns the body of a route; undefined if it takes none. */
export function bodyOf({ body, change, method }: Route): Fields | Schema | undefined {
  if (change === undefined || method === 'DELETE') return body
  if (body === undefined) return { reason: reasonField }
  return isSchema(body) ? body : { ...body, reason: reasonField }
}

/** Reads the query of a route. @throws OptionsError with every violation */
export function readQuery(route: Route, given: Readonly<Record<string, string>>): Readonly<Record<string, unknown>> {
  const fields = queryOf(route)
  const values = Object.entries(given).map(([name, value]) => {
    return [name, Object.hasOwn(fields, name) ? fields[name]?.ofText(value) : value] as const
  })
  return checked('The query', (report) => readFields(fields, Object.fromEntries(values), '', report))
}

/** Reads the body of a route. @throws OptionsError with every violation; AdminRequestError for a body that it does not take */
export function readRouteBody(route: Route, given: unknown): unknown {
  const schema = bodyOf(route)
  if (schema === undefined) {
    if (given !== undefined) throw new AdminRequestError('This route takes no body.')
    return undefined
  }
  return checked('The body', (report) => {
    if (isSchema(schema)) {
      if (given === undefined) report('', `is required: ${schema.expects}`)
      return given === undefined ? undefined : schema.read(given, '', report)
    }
    if (given !== undefined && !isPlainObject(given)) report('', 'must be an object')
    return readFields(schema, isPlainObject(given) ? given : {}, '', report)
  })
}

/**
 * Returns the reason of a change, from the body or the header.
 * @throws ReasonRequiredError, AdminRequestError
 */
export function readReason(
  { change }: Route,
  body: unknown,
  header: string | undefined,
  required: 'ALWAYS' | 'DESTRUCTIVE' | 'NEVER',
): string | undefined {
  const inBody = isPlainObject(body) && typeof body['reason'] === 'string' ? body['reason'] : undefined
  const reason = inBody ?? (header === undefined ? undefined : decoded(header))
  if (change === undefined || reason !== undefined) return reason
  if (required === 'ALWAYS' || (required === 'DESTRUCTIVE' && change.isDestructive))
    throw new ReasonRequiredError(change.operation)
  return undefined
}

function decoded(header: string): string {
  let reason: string
  try {
    reason = decodeURIComponent(header)
  } catch {
    throw new AdminRequestError('The header Waybill-Reason must be percent-encoded UTF-8.')
  }
  if (reason === '' || reason.length > 500 || /\p{Cc}/u.test(reason))
    throw new AdminRequestError('The header Waybill-Reason must have 1 to 500 characters, without control characters.')
  return reason
}

function checked<T>(subject: string, read: (report: Report) => T): T {
  const violations: OptionViolation[] = []
  const result = read((path, problem) => violations.push({ path: path === '' ? 'body' : path, problem }))
  if (violations.length > 0) throw new OptionsError(subject, violations.slice(0, 50))
  return result
}
