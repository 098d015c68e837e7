/** What was seen of a handler that a test has waited for in vain: mostly it says at once why. */

import { describeThrown } from '@waybill/core'

/** The calls of a handler so far. */
export interface HandlerSight {
  readonly calls: number
  /** Values of what it handled. */
  readonly handled: readonly (string | null)[]
  /** What its failed calls threw. */
  readonly failures: readonly unknown[]
}

/** More of them make a line that nobody reads. */
const mostShown = 5

/** One or two sentences. */
export function describeSight({ calls, handled, failures }: HandlerSight): string {
  if (calls === 0)
    return 'The handler was never called: look whether its connector is started and its topic has records.'
  const running = calls - handled.length - failures.length
  const parts = [
    handled.length > 0 ? `${handled.length} handled (${shownValues(handled)})` : '',
    failures.length > 0 ? `${failures.length} failed, the last with ${lastWords(failures.at(-1))}` : '',
    running > 0 ? `${running} still running` : '',
  ]
  return `The handler was called ${timesOf(calls)}: ${parts.filter((part) => part !== '').join('; ')}.`
}

/** What was thrown, without the end of its sentence: another one goes on behind it. */
export function lastWords(error: unknown): string {
  return describeThrown(error).replace(/\.\s*$/, '')
}

/** How often something happened, in words. */
export function timesOf(count: number): string {
  return count === 1 ? 'once' : `${count} times`
}

function shownValues(values: readonly (string | null)[]): string {
  const shown = values.slice(0, mostShown).map((value) => JSON.stringify(value))
  return `${shown.join(', ')}${values.length > mostShown ? ', …' : ''}`
}
