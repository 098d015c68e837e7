import type { Logger } from '../telemetry/logger.ts'

/** Is called for an event of a version that the catalog does not know. */
export type UnknownVersionReport = (name: string, version: number) => void

/** Versions come from outside: what is remembered of them has an end. */
const mostLogged = 100

/**
 * Creates a report that logs each unknown version of an event once, so that a producer that is ahead of its consumers does not
 * flood the log: the first hundred versions, then no more.
 */
export function createUnknownVersionLog(logger: Logger): UnknownVersionReport {
  const logged = new Set<string>()
  return (name, version) => {
    const key = `${version} ${name}`
    if (logged.has(key) || logged.size >= mostLogged) return
    logged.add(key)
    logUnknownVersion(logger, name, version)
  }
}

/** Logs an unknown version, in the words of the specification. */
export function logUnknownVersion(logger: Logger, name: string, version: number): void {
  logger.warn({ event: name, version }, `Unknown ${name} version ${version}, attempting v1`)
}
