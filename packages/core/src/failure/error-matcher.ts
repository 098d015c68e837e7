import { labelsOf, prototypesOf } from './cause-chain.ts'

/** A class whose instances and subclasses' instances are meant. */
export type ErrorClass = abstract new (...args: never[]) => unknown

/**
 * Says which errors are meant:
 * - a text: errors with this `name` or `code`, or of a class with this name or a subclass of it;
 * - a class: its instances;
 * - any other function: a predicate. One that throws has not matched, so it need not guard its property reads.
 */
export type ErrorMatcher = string | ErrorClass | ((error: unknown) => boolean)

/** Makes a predicate of a matcher. It looks at one error, not at its causes, and never throws. */
export function errorPredicate(matcher: ErrorMatcher): (error: unknown) => boolean {
  if (typeof matcher === 'string') return (error) => labelsOf(error).has(matcher)
  if (isErrorClass(matcher)) return (error) => prototypesOf(error).includes(matcher.prototype as object)
  return (error) => {
    try {
      const answer: unknown = matcher(error)
      return answer === true // The promise of an async predicate is truthy and would match everything.
    } catch {
      return false // `error.response.status` on an error without a response: not the error that was meant.
    }
  }
}

/** How a matcher is called in messages; undefined for a predicate, which cannot be told from another. */
export function matcherName(matcher: ErrorMatcher): string | undefined {
  if (typeof matcher === 'string') return matcher
  return isErrorClass(matcher) ? matcher.name : undefined
}

/** Classes have a prototype that cannot be replaced; constructor functions of old are known by what they inherit from. */
function isErrorClass(matcher: Exclude<ErrorMatcher, string>): matcher is ErrorClass & { readonly name: string } {
  const prototype = Object.getOwnPropertyDescriptor(matcher, 'prototype')
  return prototype !== undefined && (prototype.writable === false || prototype.value instanceof Error)
}
