/** Describes the calls of a handler in the error of a failed wait, which usually reveals the reason. */

import { describeThrown } from '@waybill/core'

/** The calls of a handler so far. */
export interface HandlerSight {
  readonly calls: number
  /** Values of the records it handled. */
  readonly handled: readonly (string | null)[]
  /** Errors of its failed calls. */
  readonly failures: readonly unknown[]
}

/** Most values shown. */
const mostShown = 5

/** Describes the calls in one or two sentences. */
export function describeSight({ calls, handled, failures }: HandlerSight): string {
  if (calls === 0)
    return 'The handler was never called. Check that its connector is started and that its topic has records.'
  const running = calls - handled.length - failures.length
  const parts = [
    handled.length > 0 ? `${handled.length} handled (${shownValues(handled)})` : '',
    failures.length > 0 ? `${failures.length} failed, the last with ${lastWords(failures.at(-1))}` : '',
    running > 0 ? `${running} still running` : '',
  ]
  return `The handler was called ${timesOf(calls)}: ${parts.filter((part) => part !== '').join('; ')}.`
}

/** Describes an error without its final period, to be continued. */
export function lastWords(error: unknown): string {
  return describeThrown(error).replace(/\.\s*$/, '')
}

/** Returns a count in words. */
export function timesOf(count: number): string {
  return count === 1 ? 'once' : `${count} times`
}

function shownValues(values: readonly (string | null)[]): string {
  const shown = values.slice(0, mostShown).map((value) => JSON.stringify(value))
  return `${shown.join(', ')}${values.length > mostShown ? ', …' : ''}`
}
