import { describe, expect, test } from 'vitest'
import { findingsIn, treeOf } from '../tree.ts'
import { markdownLinkRule } from './markdown-link.ts'

function linkFrom(path: string, target: string): string[] {
  const tree = treeOf({
    'README.md': '# Top\n',
    'docs/a.md': '# One two\n',
    'docs/b c.md': '',
    'src/a.ts': '',
    [path]: `\n# Own heading\n[text](${target})\n`,
  })
  return findingsIn(markdownLinkRule, tree)
}

describe('a link leads somewhere', () => {
  test.each([
    'a.md',
    './a.md',
    'a.md#one-two',
    '#own-heading',
    '../README.md#top',
    '/README.md',
    '../src',
    '../src/',
    '../src/a.ts#L3-L5',
    'b%20c.md',
    'https://example.org/x#y',
    'mailto:a@example.org',
  ])('as %s', (target) => {
    expect(linkFrom('docs/page.md', target)).toEqual([])
  })
})

describe('a link leads nowhere', () => {
  test.each([
    ['missing.md', 'docs/missing.md does not exist'],
    ['a.md#three', 'no heading makes #three'],
    ['#one-two', 'no heading makes #one-two'],
    ['../src#one', 'a folder has no headings'],
    ['../src/a.ts#one', 'which has no headings'],
    ['../../README.md', '../README.md does not exist'],
  ])('as %s', (target, reason) => {
    expect(linkFrom('docs/page.md', target)).toEqual([expect.stringContaining(reason)])
  })

  test('and is found at its line', () => {
    expect(linkFrom('docs/page.md', 'missing.md')[0]).toMatch(/^docs\/page\.md:3 /)
  })
})
