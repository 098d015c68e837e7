import { DemoInterrupted } from './demo-failure.ts'

/** The members of a process that are used. */
export interface InterruptedProcess {
  on(signal: 'SIGINT' | 'SIGTERM', listener: () => void): unknown
  off(signal: 'SIGINT' | 'SIGTERM', listener: () => void): unknown
  exit(code: number): unknown
}

/** The exit code of a program that Ctrl-C ended. */
export const interruptedExitCode = 130

/**
 * Listens for Ctrl-C until it is disposed. The first one ends the story, so that its resources are removed; the second ends
 * the process, and `left` lists the resources that may remain.
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
    say('Ending: closing the shop and removing the resources of the demo. Ctrl-C again ends at once.')
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
