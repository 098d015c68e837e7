import { type KnownError, knownError } from './cause-chain.ts'
import { takeRejection } from './take-rejection.ts'

/** A class whose instances and subclasses' instances are meant. */
export type ErrorClass = abstract new (...args: never[]) => unknown

/**
 * Says which errors are meant:
 * - a text: errors with this `name` or `code`, or of a class with this name or a subclass of it;
 * - a class: its instances;
 * - any other function: a predicate. One that throws has not matched, so it need not guard its property reads.
 */
export type ErrorMatcher = string | ErrorClass | ((error: unknown) => boolean)

/** Makes one predicate of several matchers. It looks at one error, not at its causes, and never throws. */
export function anyErrorPredicate(matchers: readonly ErrorMatcher[]): (error: unknown) => boolean {
  const matches = anyKnownPredicate(matchers)
  return (error) => matches(knownError(error))
}

/**
 * The same for callers with several predicates: the names of an error are found once for all of them. With a dozen names
 * each, that lookup is most of the time a failed record takes.
 */
export function anyKnownPredicate(matchers: readonly ErrorMatcher[]): (known: KnownError) => boolean {
  const names = new Set(matchers.filter((matcher) => typeof matcher === 'string'))
  const classes = new Set(matchers.filter(isClassMatcher).map(({ prototype }) => prototype as object))
  const questions = matchers.filter((matcher) => typeof matcher !== 'string' && !isClassMatcher(matcher))
  const ask = questions.map((question) => safely(question as (error: unknown) => boolean))
  return ({ error, labels, prototypes }) =>
    (names.size > 0 && labels.some((label) => names.has(label))) ||
    (classes.size > 0 && prototypes.some((prototype) => classes.has(prototype))) ||
    ask.some((matches) => matches(error))
}

function safely(question: (error: unknown) => boolean): (error: unknown) => boolean {
  return (error) => {
    try {
      const answer: unknown = question(error)
      takeRejection(answer)
      return answer === true // The promise of an async predicate is truthy and would match everything.
    } catch {
      return false // `error.response.status` on an error without a response: not the error that was meant.
    }
  }
}

/** Returns the name of a matcher for messages; undefined for a predicate, which has no telling name. */
export function matcherName(matcher: ErrorMatcher): string | undefined {
  if (typeof matcher === 'string') return matcher
  return isErrorClass(matcher) ? matcher.name : undefined
}

function isClassMatcher(matcher: ErrorMatcher): matcher is ErrorClass & { readonly name: string } {
  return typeof matcher !== 'string' && isErrorClass(matcher)
}

/** Classes have a prototype that cannot be replaced; constructor functions of old are known by what they inherit from. */
function isErrorClass(matcher: Exclude<ErrorMatcher, string>): matcher is ErrorClass & { readonly name: string } {
  const prototype = Object.getOwnPropertyDescriptor(matcher, 'prototype')
  return prototype !== undefined && (prototype.writable === false || prototype.value instanceof Error)
}
