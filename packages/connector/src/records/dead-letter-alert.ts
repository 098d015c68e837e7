import { describeThrown, type Runtime } from '@waybill/core'
import type { OutRecord } from '@waybill/kafka'
import type { DeadLetterAlertHandler } from '../api/dead-letter-types.ts'
import type { ResolvedDeadLetter } from '../binding/resolved-binding.ts'
import { deadLetterRecordOf } from './dead-letter-record.ts'

/** The maximum number of concurrent alerts, so that a burst of dead letters cannot exhaust memory. */
const mostAlerts = 100

/** Alerts about a dead letter that is stored. */
export type DeadLetterAlert = (stored: OutRecord) => void

/**
 * Creates the alert for ALERT_AND_STORE; with any other strategy it does nothing. The dead letter is already stored, so
 * the handler delays nothing: its errors are logged, and alerts above the maximum are dropped and logged.
 */
export function createDeadLetterAlert(deadLetter: ResolvedDeadLetter, { logger }: Runtime): DeadLetterAlert {
  const { strategy, alertHandler, topic } = deadLetter
  if (strategy !== 'ALERT_AND_STORE' || alertHandler === undefined) return () => {}
  let running = 0
  return (stored) => {
    if (running >= mostAlerts) {
      logger.warn({ topic, running }, 'Dead letter alert dropped')
      return
    }
    running++
    void alert(alertHandler, stored)
      .catch((error: unknown) => {
        logger.error({ topic, reason: describeThrown(error) }, 'Dead letter alert failed')
      })
      .finally(() => {
        running--
      })
  }
}

async function alert(handler: DeadLetterAlertHandler, stored: OutRecord): Promise<void> {
  await handler.onDeadLetter(deadLetterRecordOf(stored))
}
