import { nearest } from '@waybill/core/option'
import type { ContractRule } from '../rule/rule.ts'
import { contractRules } from '../rule/rules.ts'
import { type Command, type CommandContext, type ExitCode, type GivenOptions, wrongUse } from './command.ts'
import { sharedOptions } from './contract-options.ts'

/** Explains kinds of findings. */
export const explainCommand: Command = {
  name: 'explain',
  about: 'explains a kind of finding, or lists all of them',
  examples: ['waybill-contract explain WB-C101', 'waybill-contract explain'],
  options: { help: sharedOptions.help },
  run: explain,
}

function explain({ words }: GivenOptions, context: CommandContext): Promise<ExitCode> {
  const rules = Object.values(contractRules)
  const unknown = words.find((word) => !rules.some(({ code }) => code === word.toUpperCase()))
  if (unknown !== undefined) {
    const meant = nearest(
      unknown,
      rules.map(({ code }) => code),
    )
    const hint = meant === undefined ? 'waybill-contract explain lists all codes.' : `Did you mean ${meant}?`
    return Promise.resolve(wrongUse(context, `There is no finding ${unknown}. ${hint}`))
  }
  if (words.length === 0) for (const { code, title } of rules) context.out(`${code}  ${title}\n`)
  const asked = words.flatMap((word) => rules.filter(({ code }) => code === word.toUpperCase()))
  context.out(asked.map(textOf).join('\n'))
  return Promise.resolve(0)
}

function textOf({ code, title, explanation, example, remedy }: ContractRule): string {
  return [
    `${code}  ${title}`,
    '',
    explanation,
    '',
    `  before  ${example.before}`,
    `  after   ${example.after === '' ? '(nothing)' : example.after}`,
    '',
    remedy,
    '',
  ].join('\n')
}
