import { WaybillError } from '../errors.ts'
import { nested, type Report, type Resolved, type Rules, readValue } from './rule.ts'

/** One thing wrong with an options object. */
export interface OptionViolation {
  /** Where: `bindings.orders.retry.tiers[0].delayMs`. */
  readonly path: string
  /** The violation and the expected value. */
  readonly problem: string
}

/** Invalid options: every violation at once. */
export class OptionsError extends WaybillError {
  static override readonly code = 'WAYBILL_OPTIONS_INVALID'
  readonly violations: readonly OptionViolation[]

  constructor(subject: string, violations: readonly OptionViolation[]) {
    const lines = violations.map(({ path, problem }) => `\n  ${path === '' ? subject : path} ${problem}`)
    const count = violations.length === 1 ? '1 invalid option' : `${violations.length} invalid options`
    super(`${subject}: ${count}:${lines.join('')}\n `, {
      impact: 'Nothing was done.',
      hint: 'Fix them and try again.',
    })
    this.violations = Object.freeze(violations.map((violation) => Object.freeze({ ...violation })))
  }
}

/**
 * Turns what a user gave into a frozen object in which nothing is optional. Engines read only the result, so no
 * default is ever written twice.
 *
 * `relations` checks what no single rule can see (one option against another); it runs when every value alone is
 * right, so it needs no guards of its own.
 *
 * @throws {@link OptionsError} with every violation and its path.
 */
export function resolveOptions<R extends Rules>(
  subject: string,
  rules: R,
  given: unknown,
  relations: (options: Resolved<R>, report: Report) => void = () => {},
): Resolved<R> {
  const violations: OptionViolation[] = []
  const report: Report = (path, problem) => violations.push({ path, problem })
  const options = readValue(nested(rules), given, '', report)
  if (violations.length === 0) relations(options, report)
  if (violations.length > 0) throw new OptionsError(subject, violations)
  return options
}
