import { systemTimers } from '@waybill/core/internal'
import { test } from 'vitest'
import { describeWhole } from './support/describe-whole.ts'
import { underLoad } from './support/under-load.ts'

describeWhole(1, 'a broker that is killed and down for 20 s under load', (service) => {
  test('costs no confirmed record, repeats none, and the client recovers by itself', async () => {
    await underLoad(service().url.split(','), async () => {
      await service().kill()
      await systemTimers.sleep(20_000)
      await service().start()
    })
  }, 600_000)
})
