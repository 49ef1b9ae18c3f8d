/** What a program printed without its lines about progress, which tell how fast the machine is. */
export function withoutProgress(printed: string): string {
  return printed.replaceAll(/^(?:backing up|checking|comparing|exporting|restoring|writing): \d.*\n/gm, '');
}
