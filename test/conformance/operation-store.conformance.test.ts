import { systemRuntime } from '@waybill/core'
import { createMemoryOperationStore } from '@waybill/core/internal'
import { operationStoreSuite } from '@waybill/testkit/conformance'
import { vitestRunner } from './vitest-runner.ts'

operationStoreSuite(
  {
    name: 'memory',
    capabilities: { DURABLE: { absent: 'its operations end with the process' } },
    run: (test) => {
      const store = createMemoryOperationStore()
      return test({ stores: [store, store], runtime: systemRuntime })
    },
  },
  vitestRunner,
)
