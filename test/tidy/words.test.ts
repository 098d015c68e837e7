import { describe, expect, test } from 'vitest'
import { commentsOf, findInvariantIds, findNobodies, findOpenings, findRequirementIds } from './words.ts'

describe('the comments of a file', () => {
  test.each([
    ['/** One. */', ['1 One.']],
    ['/**\n * One.\n * Two.\n */', ['1 One. Two.']],
    ['// One\n// two.\n\n// Three.', ['1 One two.', '4 Three.']],
    ['const a = 1 // One.\nconst b = 2 // Two.', ['1 One.', '2 Two.']],
    ['// One.\n/* Two. */\n// Three.', ['1 One.', '2 Two.', '3 Three.']],
    ["const a = '// none'", []],
    ['/** Divides `a / b`: see https://example.org. */', ['1 Divides `a / b`: see https://example.org.']],
  ])('of %j are %j', (text, comments) => {
    expect(commentsOf(text).map(({ line, words }) => `${line} ${words}`)).toEqual(comments)
  })
})

describe('a comment opens with a relative clause', () => {
  test.each([
    '/** What is left. */',
    '/**\n * Who is asked.\n */',
    '// Whoever reads\n// what is left',
    'const a = 1 // What a is.',
  ])('%j', (text) => {
    expect(findOpenings('a.ts', text)).toHaveLength(1)
  })
})

describe('a comment does not open with a relative clause', () => {
  test.each([
    '/** Whole batches. What is left waits. */',
    '// Returns what\n// What is left',
    "const a = '/** What */'",
    '/** Whatever is left. */',
  ])('%j', (text) => {
    expect(findOpenings('a.ts', text)).toEqual([])
  })
})

test('a line that speaks of nobody is counted once, in a comment or a message', () => {
  const text = "// Nobody waits for whoever asks.\nthrow new Error('somebody else')\nconst nobodies = 1\n"
  expect(findNobodies('a.ts', text).map(({ line, message }) => `${line} ${message}`)).toEqual([
    '1 speaks of Nobody',
    '2 speaks of somebody',
  ])
})

test('ids of requirements and decisions are found, those of invariants are not', () => {
  const text = "// S0-151, C-71, D-25, D7 and (D21) hold, and I7.\nconst text = 'S4-034'\nconst D3D = 1\n"
  expect(findRequirementIds('a.ts', text).map(({ message }) => message)).toEqual([
    'names S0-151',
    'names C-71',
    'names D-25',
    'names D7',
    'names D21',
    'names S4-034',
  ])
})

test('ids of invariants are found in comments', () => {
  expect(
    findInvariantIds('a.ts', "/** Keeps I12\n and L1. */\nconst I3 = 'L2'\n").map(({ line, id }) => `${line} ${id}`),
  ).toEqual(['1 I12', '2 L1'])
})
