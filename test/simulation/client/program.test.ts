import { describePrograms } from '../world/program-suite.ts'
import { drawProgram } from './program.ts'

describePrograms(drawProgram, {
  records: ({ sources }) => sources.reduce((sum, { records }) => sum + records, 0),
  members: ({ members }) => members.count,
  harmful: /KILL|EXPIRE|FREEZE|REPLACE|CUT|DELETE|COORDINATOR/,
})
