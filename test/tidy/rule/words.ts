import { anchorsOf } from '../markdown.ts'
import { type Finding, filesOf, packageSource, type Rule, type Tree } from '../tree.ts'
import { findInvariantIds, findNobodies, findOpenings, findRequirementIds } from '../words.ts'

/** Checks how comments begin. */
export const openingRule: Rule = {
  title: 'no comment opens with What, Who or Whoever',
  why:
    'A comment that opens with a relative clause is read twice. Start with a verb for a function ("Returns …") and with ' +
    'a noun for a type ("The offsets …").',
  find: (tree) => findInSources(tree, findOpenings),
}

/** Checks that sentences name their subject. */
export const nobodyRule: Rule = {
  title: 'no source speaks of somebody, nobody or whoever',
  why: 'A reader cannot tell which part of the system is meant. Name it: the consumer, the caller, the broker.',
  find: (tree) => findInSources(tree, findNobodies),
}

/** Checks that sources explain themselves. */
export const requirementIdRule: Rule = {
  title: 'no source names the id of a requirement or decision',
  why:
    'An id means nothing without its document. Say the reason; docs/reference/requirements.md maps requirements to tests, ' +
    'and decisions are ADRs, linked by number.',
  find: (tree) => findInSources(tree, findRequirementIds),
}

type Find = (path: string, text: string) => readonly Finding[]

function findInSources(tree: Tree, find: Find): Finding[] {
  return filesOf(tree, packageSource).flatMap(([path, text]) => find(path, text))
}

const invariantsPath = 'docs/explanation/invariants.md'

/** Checks that a reader can look up an invariant. */
export const invariantRule: Rule = {
  title: `every invariant that a source names has a heading in ${invariantsPath}`,
  why: 'The id of an invariant stands for a page of reasons. Write its section, or correct the id.',
  find: (tree) => {
    const defined = new Set([...anchorsOf(tree.get(invariantsPath) ?? '')].map((anchor) => anchor.split('-')[0]))
    return filesOf(tree, packageSource).flatMap(([path, text]) =>
      findInvariantIds(path, text)
        .filter(({ id }) => !defined.has(id.toLowerCase()))
        .map(
          ({ line, id }): Finding => ({ path, line, message: `names ${id}, which ${invariantsPath} does not explain` }),
        ),
    )
  },
}
