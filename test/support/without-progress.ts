/** What a program printed without its lines about progress, which tell how fast the machine is. */
export function withoutProgress(printed: string): string {
  const progress = 'still working|(?:backing up|checking|comparing|exporting|restoring|writing): \\d.*';
  return printed.replaceAll(new RegExp(`^petstore: (?:${progress})\\n`, 'gm'), '');
}
