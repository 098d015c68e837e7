import { describeThrown, type Logger, type Schemas } from '@waybill/core'
import { type CheckWaitingOptions, checkWaiting, type WaitingCount, type WaitingReport } from './check-waiting.ts'
import { WaitingRecordsError } from './waiting-errors.ts'

/** Whether waiting records are checked at start: not at all, with warnings, or as a condition. */
export type WaitingCheck = 'OFF' | 'WARN' | 'FAIL'

/** Options of {@link checkWaitingAtStart}. */
export interface WaitingCheckOptions<S extends Schemas = Schemas> extends CheckWaitingOptions<S> {
  readonly waitingCheck: WaitingCheck
  readonly logger: Logger
}

/**
 * Checks waiting records before a service starts. Returns null with OFF. What was not read is logged; it does not fail, since
 * the bounds are yours.
 *
 * @throws {@link WaitingRecordsError} with FAIL, if the catalog cannot read a record, or if the places could not be read
 */
export async function checkWaitingAtStart<S extends Schemas>(
  options: WaitingCheckOptions<S>,
): Promise<WaitingReport | null> {
  const { waitingCheck, logger } = options
  if (waitingCheck === 'OFF') return null
  const report = await readReport(options)
  if (report === null) return null
  for (const { name, read, unread, endedBy } of report.readings)
    if (endedBy !== null) logger.warn({ place: name, read, unread, endedBy }, 'Waiting records not all checked')
  const failing = report.counts.filter(({ failed, knownUnreadable }) => failed > knownUnreadable)
  for (const { event, version, count, failed, failure } of failing)
    logger.warn({ event, version, count, failed, ...failure }, 'Waiting records unreadable')
  if (waitingCheck === 'FAIL' && !report.passes)
    throw new WaitingRecordsError(`The catalog cannot read waiting records: ${failing.map(textOf).join('; ')}.`, report)
  return report
}

async function readReport<S extends Schemas>(options: WaitingCheckOptions<S>): Promise<WaitingReport | null> {
  try {
    return await checkWaiting(options)
  } catch (error) {
    if (options.waitingCheck === 'FAIL')
      throw new WaitingRecordsError(`Waiting records could not be read: ${describeThrown(error)}.`, null, error)
    options.logger.warn({ error: describeThrown(error) }, 'Waiting records not checked')
    return null
  }
}

function textOf({ event, version, failed, knownUnreadable, failure }: WaitingCount): string {
  const name = event === null ? 'records without an event' : `${event} version ${version}`
  return `${failed - knownUnreadable} of ${name}, first ${failure?.place ?? 'unknown'} (${failure?.message ?? 'unknown'})`
}
