import { expect, test } from 'vitest'
import { MutantError, plantedSource } from './plant-mutant.ts'

const edit = { file: 'a.ts', find: 'a > b', replace: "$& '$1'" }

test('the text is replaced as it is written', () => {
  expect(plantedSource('if (a > b) c()', 'm', edit)).toBe("if ($& '$1') c()")
})

test.each([
  ['if (a < b) c()', 0],
  ['a > b, a > b', 2],
])('a text that does not occur once is refused: %j', (source, times) => {
  expect(() => plantedSource(source, 'm', edit)).toThrow(MutantError)
  expect(() => plantedSource(source, 'm', edit)).toThrow(`"m" occurs ${times} times in a.ts`)
})
