import type { PrivateService } from '@waybill/services'
import { describeWithPrivate } from '@waybill/test-support'
import { test } from 'vitest'
import { scale } from './scale.ts'

/**
 * Describes tests that need a Kafka of their own and minutes of time; a short run lists them as skipped with that
 * reason.
 */
export function describeWhole(brokers: number, title: string, define: (service: () => PrivateService) => void): void {
  if (scale === 'WHOLE') describeWithPrivate('kafka', { brokers })(title, define)
  else test(title, (context) => context.skip('it takes minutes: npm run guarantees'))
}
