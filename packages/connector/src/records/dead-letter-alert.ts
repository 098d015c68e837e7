import { describeThrown, type Runtime } from '@waybill/core'
import type { OutRecord } from '@waybill/kafka'
import type { DeadLetterAlertHandler } from '../api/dead-letter-types.ts'
import type { ResolvedDeadLetter } from '../binding/resolved-binding.ts'
import { deadLetterRecordOf } from './dead-letter-record.ts'

/** Alerts that run at once. Thousands of dead letters in a second are one alarm, and must not fill the memory. */
const mostAlerts = 100

/** Is handed each dead letter once it is stored. */
export type DeadLetterAlert = (stored: OutRecord) => void

/**
 * Makes what tells the alert handler of ALERT_AND_STORE; nothing with STORE_ONLY (S0-136, S0-137). The dead letter is
 * stored by then, so whatever the handler does holds nothing up: what it throws is logged, and while too many of its calls
 * run, further ones are passed over and logged.
 */
export function createDeadLetterAlert(deadLetter: ResolvedDeadLetter, { logger }: Runtime): DeadLetterAlert {
  const { strategy, alertHandler, topic } = deadLetter
  if (strategy !== 'ALERT_AND_STORE' || alertHandler === undefined) return () => {}
  let running = 0
  return (stored) => {
    if (running >= mostAlerts) {
      logger.warn({ topic, running }, 'A dead letter is stored without an alert: too many alerts run')
      return
    }
    running++
    void alert(alertHandler, stored)
      .catch((error: unknown) => {
        logger.error({ topic, reason: describeThrown(error) }, 'The alert handler failed; the dead letter is stored')
      })
      .finally(() => {
        running--
      })
  }
}

async function alert(handler: DeadLetterAlertHandler, stored: OutRecord): Promise<void> {
  await handler.onDeadLetter(deadLetterRecordOf(stored))
}
