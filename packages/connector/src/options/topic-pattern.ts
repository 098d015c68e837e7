/**
 * Matches topic names against a regular expression in linear time: an expression comes from a file and the names from a
 * cluster, and a backtracking matcher blocks the process for hours on `/^(a|a)*$/` and a name of 50 letters.
 *
 * The expression becomes a program of states. A run visits each position of a name once and keeps the set of states that
 * can be reached there, so it takes at most states × characters steps. A lookaround is evaluated before, in its own run, which
 * marks where it holds: a lookahead reads its program backward, from every position at once.
 */

import { ArgumentError } from '@waybill/core'
import { type PatternNode, parsePattern } from './pattern-syntax.ts'

/** A compiled expression. */
export interface TopicPattern {
  test(name: string): boolean
}

type Instruction =
  | { readonly type: 'CHAR'; readonly matches: (code: number) => boolean }
  | { readonly type: 'EDGE'; readonly holds: (text: string, at: number) => boolean }
  | { readonly type: 'LOOK'; readonly look: Look }
  /** Continues at one state, or at two. */
  | { readonly type: 'JUMP'; to: readonly number[] }
  | { readonly type: 'MATCH' }

interface Look {
  readonly isNegated: boolean
  readonly program: Program
}

interface Program {
  readonly instructions: readonly Instruction[]
  readonly looks: readonly Look[]
  /** Whether it reads from the end of the text to its start. */
  readonly isBackward: boolean
}

/** Counted repetitions are written out. 2,000 states on the longest name, 249 characters, take about a millisecond. */
const maxStates = 2_000

/** @throws ArgumentError for an expression that cannot be matched in linear time */
export function compileTopicPattern(expression: RegExp): TopicPattern {
  const budget = { left: maxStates }
  const program = compile(parsePattern(expression), false, budget)
  return { test: (name) => endsIn(program, name).includes(true) }
}

/** Returns the reason why an expression cannot be matched in linear time; undefined if it can. */
export function patternProblem(expression: RegExp): string | undefined {
  try {
    compileTopicPattern(expression)
    return undefined
  } catch (error) {
    if (!(error instanceof ArgumentError)) throw error
    return error.message
  }
}

function compile(root: PatternNode, isBackward: boolean, budget: { left: number }): Program {
  const instructions: Instruction[] = []
  const looks: Look[] = []

  const emit = (instruction: Instruction): void => {
    if (budget.left-- === 0) throw new ArgumentError('is too large: use smaller counts in { }')
    instructions.push(instruction)
  }
  /** Emits a jump whose targets are set once they are known. */
  const jump = (): { to: readonly number[] } => {
    const made: Instruction & { type: 'JUMP' } = { type: 'JUMP', to: [] }
    emit(made)
    return made
  }
  const write = (node: PatternNode): void => {
    switch (node.type) {
      case 'CHAR':
      case 'EDGE':
        return emit(node)
      case 'LOOK': {
        const look = { isNegated: node.isNegated, program: compile(node.body, node.isAhead, budget) }
        looks.push(look)
        return emit({ type: 'LOOK', look })
      }
      case 'SEQUENCE':
        for (const item of isBackward ? node.items.toReversed() : node.items) write(item)
        return
      case 'CHOICE':
        return writeChoice(node.items)
      case 'REPEAT':
        return writeRepeat(node.body, node.min, node.max)
    }
  }
  const writeChoice = (items: readonly PatternNode[]): void => {
    const ends: { to: readonly number[] }[] = []
    for (const [index, item] of items.entries()) {
      if (index === items.length - 1) write(item)
      else {
        const fork = jump()
        const start = instructions.length
        write(item)
        ends.push(jump())
        fork.to = [start, instructions.length]
      }
    }
    for (const end of ends) end.to = [instructions.length]
  }
  const writeRepeat = (body: PatternNode, min: number, max: number): void => {
    for (let at = 0; at < min; at++) {
      const before = instructions.length
      write(body)
      if (instructions.length === before) return // Repeating nothing is nothing, however often.
    }
    if (max === Infinity) {
      const fork = jump()
      const start = instructions.length
      write(body)
      const back = jump()
      back.to = [start - 1]
      fork.to = [start, instructions.length]
      return
    }
    const skips: { readonly fork: { to: readonly number[] }; readonly start: number }[] = []
    for (let at = min; at < max; at++) {
      const fork = jump()
      const start = instructions.length
      write(body)
      skips.push({ fork, start })
      if (instructions.length === start) break
    }
    for (const { fork, start } of skips) fork.to = [start, instructions.length]
  }

  write(root)
  emit({ type: 'MATCH' })
  return { instructions, looks, isBackward }
}

/** Returns for each position whether a match that starts anywhere ends there. */
function endsIn(program: Program, text: string): readonly boolean[] {
  const { instructions, looks, isBackward } = program
  const holds = new Map(looks.map((look) => [look, endsIn(look.program, text)]))
  const ends = Array.from({ length: text.length + 1 }, () => false)
  const step = isBackward ? -1 : 1
  let reached: number[] = []
  for (let at = isBackward ? text.length : 0; at >= 0 && at <= text.length; at += step) {
    const seen = new Uint8Array(instructions.length)
    const code = text.charCodeAt(isBackward ? at - 1 : at)
    const pending = [...reached, 0]
    reached = []
    for (let state = pending.pop(); state !== undefined; state = pending.pop()) {
      if (seen[state] === 1) continue
      seen[state] = 1
      const instruction = instructions[state] as Instruction
      switch (instruction.type) {
        case 'CHAR':
          if (!Number.isNaN(code) && instruction.matches(code)) reached.push(state + 1)
          break
        case 'EDGE':
          if (instruction.holds(text, at)) pending.push(state + 1)
          break
        case 'LOOK':
          if (holds.get(instruction.look)?.[at] !== instruction.look.isNegated) pending.push(state + 1)
          break
        case 'JUMP':
          pending.push(...instruction.to)
          break
        case 'MATCH':
          ends[at] = true
      }
    }
  }
  return ends
}
