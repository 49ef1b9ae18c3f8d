<?php
// Compiles every pattern of openapi.json as the generated PHP client does, and with the modifier `u`. Prints those of
// the names in names.json that the pattern of a name accepts in both ways, as JSON.
declare(strict_types=1);
// PHP only warns of a pattern that it cannot compile.
set_error_handler(fn(int $_, string $warning) => throw new ErrorException($warning));

$document = json_decode(file_get_contents('openapi.json'), true, flags: JSON_THROW_ON_ERROR);
$names = json_decode(file_get_contents('names.json'), true, flags: JSON_THROW_ON_ERROR);

$matches = function (string $pattern, string $text): bool {
    $delimited = '/' . str_replace('/', '\\/', $pattern) . '/';
    return preg_match($delimited, $text) === 1 && preg_match("{$delimited}u", $text) === 1;
};

array_walk_recursive($document, fn(mixed $value, int|string $key) => $key === 'pattern' && $matches($value, ''));

$pattern = $document['components']['schemas']['NewPet']['properties']['name']['pattern'];
echo json_encode(array_values(array_filter($names, fn(string $name) => $matches($pattern, $name))));
