/**
 * `npm run sim -- NAME`: runs seeds of a simulation, and prints violations, rare states reached and rare states missed.
 */

import { type Command, helpText, parseCommandLine, UsageError, usage } from './runner/command-line.ts'
import { recordMutants } from './runner/record-mutants.ts'
import { type Output, runSimulation, traceSeed } from './runner/run-command.ts'
import { loadSimulation, simulationModules } from './simulations.ts'

const output: Output = {
  result: (text) => process.stdout.write(text),
  progress: (line) => process.stderr.write(`${line}\n`),
}

const names = Object.keys(simulationModules)

try {
  const command = parseCommandLine(process.argv.slice(2))
  if (command === undefined) output.result(helpText(names))
  else process.exitCode = await runCommand(command)
} catch (error) {
  if (!(error instanceof UsageError)) throw error
  process.stderr.write(`${error.message}\n\n${usage}`)
  process.exitCode = 2
}

async function runCommand(command: Command): Promise<number> {
  const module = new Map(Object.entries(simulationModules)).get(command.name)
  if (module === undefined) throw new UsageError(`"${command.name}" is none of: ${names.join(', ')}.`)
  const run = command.records ? recordMutants : command.trace === null ? runSimulation : traceSeed
  return run(await loadSimulation(module), command, output)
}
