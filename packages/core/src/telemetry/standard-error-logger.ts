import type { Logger, LogLevel } from './logger.ts'
import { createTextLogger } from './text-logger.ts'

/**
 * Lines of {@link createTextLogger} on standard error, where process managers and containers look for them. No object is
 * printed, so no password in one is.
 *
 * @param level lines below it are dropped
 */
export function createStandardErrorLogger(level: LogLevel = 'WARN'): Logger {
  return createTextLogger({ level, write: writeLine })
}

let isListening = false

function writeLine(line: string): void {
  // The reader of the lines may exit before this process does (EPIPE). Without a listener that would end the process.
  if (!isListening) process.stderr.on('error', () => {})
  isListening = true
  // By way of the console: test runners keep its lines with the test that caused them.
  // oxlint-disable-next-line no-console -- This is the one place that writes there.
  console.error(line)
}
