import { resolveOptions } from '../option/resolve-options.ts'
import { func, instance, integer, list, mapOf, optional, type Report, type Rule, readValue } from '../option/rule.ts'
import { type ErrorMatcher, matcherName } from './error-matcher.ts'
import { errorNameOf, untranslatedJava } from './java-exceptions.ts'
import type { ExceptionRoutingDecision } from './routing.ts'

/** An error and the tier its records skip to. */
export type TierMapping = readonly [ErrorMatcher, number]

/**
 * The errors that are retried, and where. {@link createExceptionClassifier} defines the precedence of the options.
 * Well-known class names of Java, with their package, match the errors that report the same here.
 */
export interface ExceptionOptions {
  /**
   * The only errors that are tried again; all others go to the dead letter topic.
   * @defaultValue all errors are tried again
   */
  retryableExceptions?: readonly ErrorMatcher[] | undefined
  /**
   * Errors whose records go straight to the dead letter topic.
   * @defaultValue none
   */
  nonRetryableExceptions?: readonly ErrorMatcher[]
  /**
   * Errors whose records skip to a tier, counted from 1: `{ RateLimitError: 2 }`, or a list of pairs where an error is
   * given as a class or a predicate: `[[RateLimitError, 2]]`.
   * @defaultValue none
   */
  skipToTierMapping?: Readonly<Record<string, number>> | readonly TierMapping[]
  /**
   * Asked before all the rest; undefined leaves the decision to it.
   * @defaultValue none
   */
  classifier?: ((thrown: unknown, currentTier: number) => ExceptionRoutingDecision | undefined) | undefined
}

/** {@link ExceptionOptions} with nothing left open but what is absent on purpose. */
export interface ResolvedExceptionOptions {
  readonly retryableExceptions: readonly ErrorMatcher[] | undefined
  readonly nonRetryableExceptions: readonly ErrorMatcher[]
  readonly skipToTierMapping: readonly TierMapping[]
  readonly classifier: ExceptionOptions['classifier']
}

const isMatcher = (value: unknown): boolean =>
  (typeof value === 'string' && value !== '') || typeof value === 'function'
const matcher: Rule<ErrorMatcher> = instance('an error name, an error class or a predicate', isMatcher)

const tier: Rule<number> = integer({ min: 1 })
const tierByName: Rule<Readonly<Record<string, number>>> = mapOf(tier)
const tierPairs: Rule<readonly TierMapping[]> = list(
  instance<TierMapping>(
    'a pair of an error (name, class or predicate) and a tier of 1 or more',
    (value) =>
      Array.isArray(value) &&
      value.length === 2 &&
      isMatcher(value[0]) &&
      Number.isSafeInteger(value[1]) &&
      (value[1] as number) >= 1,
  ),
)

const skipToTierMapping: Rule<readonly TierMapping[]> = {
  ...instance<readonly TierMapping[]>(
    `${tierByName.expects}, or ${tierPairs.expects}`,
    (value) => tierByName.accepts(value) || tierPairs.accepts(value),
    { default: [], because: 'which failures last is known to those who call the dependency' },
  ),
  inside: (value, path, report) =>
    Array.isArray(value)
      ? readValue(tierPairs, value, path, report)
      : Object.freeze(Object.entries(readValue(tierByName, value, path, report))),
}

/** The rules of {@link ExceptionOptions}. Use them with {@link checkExceptionOptions}. */
export const exceptionRules: {
  readonly [K in keyof ResolvedExceptionOptions]: Rule<ResolvedExceptionOptions[K]>
} = {
  // An empty list could mean all or none, and a wrong guess would dead-letter everything.
  retryableExceptions: optional(list(matcher, { min: 1 })),
  nonRetryableExceptions: list(matcher, { default: [], because: 'a retry is the safer mistake' }),
  skipToTierMapping,
  classifier: optional(func<NonNullable<ExceptionOptions['classifier']>>()),
}

/** Checks relations that no single rule sees. `path` is where these options are inside larger ones. */
export function checkExceptionOptions(options: ResolvedExceptionOptions, report: Report, path = ''): void {
  checkRetryable(options.retryableExceptions ?? [], report, path === '' ? '' : `${path}.`)
  const retryable = new Set<unknown>(options.retryableExceptions?.map((entry) => matcherName(entry) ?? entry))
  for (const [index, entry] of options.nonRetryableExceptions.entries()) {
    const name = matcherName(entry) ?? entry
    if (!retryable.has(name)) continue
    const at = `nonRetryableExceptions[${index}]`
    const called = typeof name === 'string' ? name : 'this predicate'
    report(path === '' ? at : `${path}.${at}`, `must not be in retryableExceptions too: ${called} is in both`)
  }
}

/** Reports a list in which nothing can match: every failure would become a dead letter after one call. */
function checkRetryable(retryable: readonly ErrorMatcher[], report: Report, prefix: string): void {
  const unknown = retryable.flatMap((entry) => untranslatedJava(entry) ?? [])
  if (retryable.length === 0 || unknown.length < retryable.length) return
  report(
    `${prefix}retryableExceptions`,
    `matches no error, so that every failure would become a dead letter after one call: ${retryable.join(', ')} ` +
      `${retryable.length === 1 ? 'is a Java class' : 'are Java classes'} without a translation; write the name, the ` +
      `code or the class of an error, such as ${errorNameOf(unknown[0] as string)}, TimeoutError or ECONNRESET`,
  )
}

/** Applies defaults and checks. */
export function resolveExceptionOptions(given: ExceptionOptions = {}): ResolvedExceptionOptions {
  return resolveOptions('Exception options', exceptionRules, given, (options, report) =>
    checkExceptionOptions(options, report),
  )
}
