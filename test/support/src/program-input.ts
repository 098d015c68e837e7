import type { Writable } from 'node:stream'

/**
 * Writes the last input of a program and closes its standard input.
 *
 * A program may exit before it reads its input. The write then fails with EPIPE, and an `error` event without a listener
 * would end the whole test run. Its exit code and output report why it exited, so the failed write adds nothing.
 */
export function endInput(stdin: Writable | null, text = ''): void {
  stdin?.on('error', (error: NodeJS.ErrnoException) => {
    if (!closedPipeCodes.has(error.code ?? '')) throw error
  })
  stdin?.end(text)
}

/** Codes of writes to a pipe or socket pair whose reader has exited. */
const closedPipeCodes: ReadonlySet<string> = new Set(['EPIPE', 'ECONNRESET', 'ERR_STREAM_DESTROYED'])
