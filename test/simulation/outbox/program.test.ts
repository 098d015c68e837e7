import { expect, test } from 'vitest'
import { describePrograms, programSeeds } from '../world/program-suite.ts'
import { modes } from './mode.ts'
import { drawProgram } from './program.ts'

describePrograms(drawProgram, {
  records: ({ transactions }) => transactions.flatMap(({ events }) => events).length,
  members: ({ nodes }) => nodes,
  harmful: /KILL|FREEZE|CUT|DATABASE/,
})

test('every mode is drawn with rows that stay and rows that go', () => {
  const drawn = new Set(
    programSeeds.map((seed) => {
      const { mode, options } = drawProgram(seed)
      return `${mode} ${options.whenDone}`
    }),
  )
  expect([...drawn].toSorted()).toEqual(modes.flatMap((mode) => [`${mode} DELETE`, `${mode} KEEP`]).toSorted())
})
