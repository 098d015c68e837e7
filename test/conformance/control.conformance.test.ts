import { type Control } from '@waybill/connector'
import { createLocalControl } from '@waybill/connector/internal'
import { controlSuite } from '@waybill/testkit/conformance'
import { memoryFleet } from './memory-fleet.ts'
import { vitestRunner } from './vitest-runner.ts'

controlSuite(
  {
    name: 'one process',
    capabilities: { FLEET: { absent: 'it knows the own process only' } },
    run: (test) => test({ control: createLocalControl(), other: null }),
  },
  vitestRunner,
)

controlSuite(
  {
    name: 'processes that share a memory',
    capabilities: { FLEET: true },
    run: (test) => {
      const [control, other] = memoryFleet(2) as [Control, Control]
      return test({ control, other })
    },
  },
  vitestRunner,
)
