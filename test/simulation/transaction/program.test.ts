import { describe } from 'vitest'
import { describePrograms } from '../world/program-suite.ts'
import { drawProgram } from './program.ts'

describe('programs of the transaction simulation', () => {
  describePrograms(drawProgram, {
    records: ({ records }) => records.length,
    members: ({ processes }) => processes,
    harmful: /KILL|FREEZE|BROKER|EXPIRE|COORDINATOR|LEADER|SEEK|SKIP|RESET|RETENTION/,
  })
})
