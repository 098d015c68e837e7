import type { Readable } from 'node:stream'
import { onTestFailed } from 'vitest'

/** The last lines tell what went wrong, and a process that fails in a loop must not fill the memory. */
const mostCharacters = 50_000

/**
 * Keeps what a process writes, and shows it only when the test that started it fails: processes that are killed and frozen
 * on purpose warn all the time.
 */
export function keepForFailure(name: string, output: Readable | null): void {
  let kept = ''
  output?.setEncoding('utf8').on('data', (text: string) => {
    kept = (kept + text).slice(-mostCharacters)
  })
  onTestFailed(() => {
    if (kept !== '') process.stderr.write(`\n${name} wrote:\n${kept}`)
  })
}
