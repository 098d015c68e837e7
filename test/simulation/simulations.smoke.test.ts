/** The first seeds of every simulation. Its other seeds and its planted bugs take minutes: `npm run check` runs them. */

import { describe } from 'vitest'
import { simulation as client } from './client/client-simulation.ts'
import { simulation as connector } from './connector/connector-simulation.ts'
import { simulation as outbox } from './outbox/outbox-simulation.ts'
import { simulation as replay } from './replay/replay-simulation.ts'
import { simulation as transaction } from './transaction/transaction-simulation.ts'
import { describeSeeds } from './world/simulation-suite.ts'

describe.each([client, connector, outbox, replay, transaction])('the $name simulation', (simulation) => {
  describeSeeds(simulation, { seeds: 25, deadlineMs: 120_000 })
})
