import type { PrivateService } from '@waybill/services'
import { describeWithPrivate } from '@waybill/test-support'
import { test } from 'vitest'
import { scale } from './scale.ts'

/** Describes what needs a Kafka of its own and minutes of time; in a short run it is listed with that reason. */
export function describeWhole(brokers: number, title: string, define: (service: () => PrivateService) => void): void {
  if (scale === 'WHOLE') describeWithPrivate('kafka', { brokers })(title, define)
  else test(title, (context) => context.skip('it takes minutes: npm run guarantees'))
}
