import { DemoInterrupted } from './demo-failure.ts'

/** What of a process is used. */
export interface InterruptedProcess {
  on(signal: 'SIGINT' | 'SIGTERM', listener: () => void): unknown
  off(signal: 'SIGINT' | 'SIGTERM', listener: () => void): unknown
  exit(code: number): unknown
}

/** What a shell shows of a program that Ctrl-C has ended. */
export const interruptedExitCode = 130

/**
 * Listens for Ctrl-C until it is disposed of. The first one ends the story, so that what it made can be removed; the second
 * ends the process, and `left` says what may still be there.
 */
export function listenForInterrupt(
  process: InterruptedProcess,
  say: (text: string) => void,
  left: () => string,
): Disposable & { readonly signal: AbortSignal } {
  const interrupted = new AbortController()
  const take = (): void => {
    if (interrupted.signal.aborted) {
      say(`Ended at once. This may be left: ${left()}.`)
      process.exit(interruptedExitCode)
      return
    }
    say('Ending: the shop is closed and what the demo made is removed. Ctrl-C again ends at once.')
    interrupted.abort(new DemoInterrupted('The demo was interrupted.'))
  }
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, take)
  return {
    signal: interrupted.signal,
    [Symbol.dispose]() {
      for (const signal of ['SIGINT', 'SIGTERM'] as const) process.off(signal, take)
    },
  }
}
